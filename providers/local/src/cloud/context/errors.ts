/** The error codes of the cloud, with their HTTP statuses. */
export const CLOUD_ERRORS = {
  InvalidParameter: 400,
  MalformedRequest: 400,
  Unauthenticated: 401,
  PermissionDenied: 403,
  QuotaExceeded: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  InsufficientCapacity: 409,
  IncorrectState: 409,
  ResourceInUse: 409,
  RequestTooLarge: 413,
  RequestLimitExceeded: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  RequestTimeout: 504,
} as const;

/** An error code of the cloud API. */
export type CloudErrorCode = keyof typeof CLOUD_ERRORS;

/** The error for an error response `{"error": {"code", "message"}}`. */
export class CloudError extends Error {
  override readonly name = 'CloudError';
  readonly code: string;
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: CloudErrorCode | (string & {}),
    message: string,
    options: { readonly status?: number; readonly retryAfterSeconds?: number | undefined } = {},
  ) {
    super(message);
    this.code = code;
    this.status = options.status ?? (CLOUD_ERRORS as Readonly<Record<string, number>>)[code] ?? 400;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

export const notFound = (kind: string, id: string): CloudError =>
  new CloudError('NotFound', `There is no ${kind} ${JSON.stringify(id)}.`);
