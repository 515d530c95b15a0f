/** The `Status` with which an API server refuses a request. */
export interface StatusBody {
  readonly message?: string;
  readonly reason?: string | undefined;
  readonly code?: number;
  readonly details?: {
    readonly name?: string;
    readonly kind?: string;
    readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
    readonly retryAfterSeconds?: number;
  };
}

/**
 * The error of a request. The error code is at least 400 if the API server refused the request, and 0 if no response
 * arrived.
 */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly code: number;
  readonly reason: string;
  readonly status: StatusBody;
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    fields: {
      code: number;
      reason?: string | undefined;
      status?: StatusBody | undefined;
      retryAfterMs?: number | undefined;
      cause?: unknown;
    },
  ) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = fields.code;
    this.reason = fields.reason ?? '';
    this.status = fields.status ?? {};
    this.retryAfterMs = fields.retryAfterMs;
  }
}

const hasCode = (error: unknown, code: number): error is KubeError => error instanceof KubeError && error.code === code;

export const isDenied = ({ message }: KubeError): boolean => message.includes('denied the request');

const describes = (error: unknown, code: number): error is KubeError => hasCode(error, code) && !isDenied(error);

/** Returns true if the object does not exist (404). */
export const isNotFound = (error: unknown): error is KubeError => describes(error, 404);
/** Returns true if an object of this name already exists (409). */
export const isAlreadyExists = (error: unknown): error is KubeError =>
  describes(error, 409) && error.reason === 'AlreadyExists';
/** Returns true if the object was changed after it was read (409). */
export const isConflict = (error: unknown): error is KubeError =>
  describes(error, 409) && error.reason !== 'AlreadyExists';
/**
 * Returns true if the requested resource version is too old (410). After a 410, the caller must send a new list
 * request.
 */
export const isGone = (error: unknown): error is KubeError => hasCode(error, 410);
/** Returns true if the API server refused the content of the object (422). */
export const isInvalid = (error: unknown): error is KubeError => hasCode(error, 422);
/** Returns true if a permission is missing (403). */
export const isForbidden = (error: unknown): error is KubeError => hasCode(error, 403);
/**
 * Returns true if the API server refuses the request temporarily (429), for example an eviction that a budget does not
 * allow.
 */
export const isTooManyRequests = (error: unknown): error is KubeError => hasCode(error, 429);
/**
 * Returns true if a write was not sent because of `--observe-only`. An unsent write is not a failure, because mcm
 * logged the decision.
 */
export const isNotSent = (error: unknown): error is KubeError =>
  error instanceof KubeError && error.reason === 'ObserveOnly';

/** Ignores the error of a missing object, because a deletion of a missing object is a success. */
export async function ignoreNotFound<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
