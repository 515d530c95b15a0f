import type { MachineCode, MachineError } from '../../driver/contract/errors.ts';

/** Wait before the next attempt, in milliseconds. The wait doubles with each attempt up to `maxMs`. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Intervals from machine-controller-manager, pkg/util/provider/machineutils/utils.go. */
const SHORT_RETRY_MS = 5_000;
const MEDIUM_RETRY_MS = 180_000;
export const LONG_RETRY_MS = 600_000;

// For temporary errors, the first wait is the 5 s of the original. The longer waits limit the load on a cloud that stays
// unavailable.
const transient: Backoff = { firstMs: SHORT_RETRY_MS, maxMs: 60_000 };
const medium: Backoff = { firstMs: MEDIUM_RETRY_MS, maxMs: MEDIUM_RETRY_MS };
const long: Backoff = { firstMs: LONG_RETRY_MS, maxMs: LONG_RETRY_MS };

type RetryTable = Readonly<Record<MachineCode, Backoff>>;

const table = (others: Backoff, changed: Partial<Record<MachineCode, Backoff>> = {}): RetryTable => ({
  OK: others,
  Canceled: transient,
  Unknown: transient,
  InvalidArgument: others,
  DeadlineExceeded: transient,
  NotFound: others,
  AlreadyExists: others,
  PermissionDenied: others,
  ResourceExhausted: others,
  FailedPrecondition: others,
  Aborted: transient,
  OutOfRange: others,
  Unimplemented: others,
  Internal: others,
  Unavailable: transient,
  DataLoss: others,
  Unauthenticated: others,
  Uninitialized: others,
  ...changed,
});

/**
 * Waits after a failed `create`, and after a failed lookup before a `create`. For `ResourceExhausted`, the caller sets the
 * time.
 */
export const CREATE_RETRY: RetryTable = table(medium, { ResourceExhausted: long });
/** Waits after a failed `initialize`. mcm retries soon after every error code. */
export const INITIALIZE_RETRY: RetryTable = table(transient);
/** Waits after a failed lookup during a deletion. */
export const LOOKUP_RETRY: RetryTable = table(medium);
/** Waits after a failed `stop` or `start`. */
const POWER_RETRY: RetryTable = table(medium);
/** Waits after a failed `delete`. The retries never end, because a VM that remains costs money. */
export const DELETE_RETRY: RetryTable = table(long);

/** The retry times of each kind of call, by error code. */
export const CALL_RETRIES = {
  create: CREATE_RETRY,
  initialize: INITIALIZE_RETRY,
  status: LOOKUP_RETRY,
  stop: POWER_RETRY,
  start: POWER_RETRY,
  delete: DELETE_RETRY,
} as const;

/** Returns true if the error is not caused by the request, so an early retry may succeed. */
export const isTransient = (code: MachineCode): boolean =>
  code === 'Unknown' || code === 'DeadlineExceeded' || code === 'Aborted' || code === 'Unavailable';

/** Returns the milliseconds until attempt `failures + 1`. If the cloud requests a longer wait, this wait is used. */
export function retryAfter(backoff: Backoff, error: MachineError, failures: number): number {
  const doubled = backoff.firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 30);
  return Math.max(Math.min(doubled, backoff.maxMs), error.retryAfterMs ?? 0);
}
