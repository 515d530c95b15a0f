/** The names of the gRPC codes. */
export type AutoscalerCode =
  | 'NOT_FOUND'
  | 'INVALID_ARGUMENT'
  | 'OUT_OF_RANGE'
  | 'FAILED_PRECONDITION'
  | 'UNAVAILABLE'
  | 'UNIMPLEMENTED';

/** The error that an autoscaler receives for a refused request, with a sentence for its log. */
export class AutoscalerError extends Error {
  readonly code: AutoscalerCode;

  constructor(code: AutoscalerCode, message: string) {
    super(message);
    this.name = 'AutoscalerError';
    this.code = code;
  }
}
