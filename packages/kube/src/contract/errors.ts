/** The `Status` that a server sends with a refusal. */
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

/** A request that the API server refused (`code` ≥ 400), or that was not answered (`code` 0, with the cause). */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly code: number;
  readonly reason: string;
  readonly status: StatusBody;
  /** From `Retry-After` or `details.retryAfterSeconds`, in milliseconds. */
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

/** Whether the object does not exist (404). */
export const isNotFound = (error: unknown): error is KubeError => hasCode(error, 404);
/** Whether an object of this name already exists (409). */
export const isAlreadyExists = (error: unknown): error is KubeError =>
  hasCode(error, 409) && error.reason === 'AlreadyExists';
/** Whether the object was changed after it was read (409). */
export const isConflict = (error: unknown): error is KubeError =>
  hasCode(error, 409) && error.reason !== 'AlreadyExists';
/** Whether the requested resource version is too old (410). The caller must list again. */
export const isGone = (error: unknown): error is KubeError => hasCode(error, 410);
/** Whether the API server refused the content of the object (422). */
export const isInvalid = (error: unknown): error is KubeError => hasCode(error, 422);
/** Whether permissions are missing (403). */
export const isForbidden = (error: unknown): error is KubeError => hasCode(error, 403);
/** Whether the server refuses the request for now (429), for example an eviction that a budget does not allow. */
export const isTooManyRequests = (error: unknown): error is KubeError => hasCode(error, 429);
/** Whether a write was not sent because of `--observe-only`. This is not a failure, and it was already logged as a decision. */
export const isNotSent = (error: unknown): error is KubeError =>
  error instanceof KubeError && error.reason === 'ObserveOnly';

/** Resolves to undefined when the object does not exist. A deletion has then reached its goal. */
export async function ignoreNotFound<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
