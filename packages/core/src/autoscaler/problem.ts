/** The names of the gRPC codes. */
export type AutoscalerCode =
  | 'NOT_FOUND'
  | 'INVALID_ARGUMENT'
  | 'OUT_OF_RANGE'
  | 'FAILED_PRECONDITION'
  | 'UNAVAILABLE'
  | 'UNIMPLEMENTED';

/** The error that an autoscaler receives if mcm refuses its request. The autoscaler logs the message of the error. */
export class AutoscalerError extends Error {
  readonly code: AutoscalerCode;

  constructor(code: AutoscalerCode, message: string) {
    super(message);
    this.name = 'AutoscalerError';
    this.code = code;
  }
}
