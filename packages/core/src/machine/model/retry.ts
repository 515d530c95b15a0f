import type { MachineCode, MachineError } from '../../driver/contract/errors.ts';

/** The wait before the next attempt, in milliseconds. It doubles with each attempt up to `maxMs`. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Times from machine-controller-manager, pkg/util/provider/machineutils/utils.go. */
const SHORT_RETRY_MS = 5_000;
const MEDIUM_RETRY_MS = 180_000;
export const LONG_RETRY_MS = 600_000;

// Transient errors start at the 5 s of the original. The growing wait limits the load on a cloud that stays
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

/** After a failed `create`, and after a failed lookup before it. The caller sets the time for `ResourceExhausted`. */
export const CREATE_RETRY: RetryTable = table(medium, { ResourceExhausted: long });
/** After a failed `initialize`: every code is retried soon. */
export const INITIALIZE_RETRY: RetryTable = table(transient);
/** After a failed lookup during a deletion. */
export const LOOKUP_RETRY: RetryTable = table(medium);
/** After a failed `delete`. It never ends, because a remaining VM costs money. */
export const DELETE_RETRY: RetryTable = table(long);

/** The retry times of each kind of call, by error code. */
export const CALL_RETRIES = {
  create: CREATE_RETRY,
  initialize: INITIALIZE_RETRY,
  status: LOOKUP_RETRY,
  delete: DELETE_RETRY,
} as const;

/** Codes of errors that have no cause in the request, so an early retry may succeed. */
export const isTransient = (code: MachineCode): boolean =>
  code === 'Unknown' || code === 'DeadlineExceeded' || code === 'Aborted' || code === 'Unavailable';

/** Milliseconds until attempt `failures + 1`. A longer wait that the cloud requests applies. */
export function retryAfter(backoff: Backoff, error: MachineError, failures: number): number {
  const doubled = backoff.firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 30);
  return Math.max(Math.min(doubled, backoff.maxMs), error.retryAfterMs ?? 0);
}
