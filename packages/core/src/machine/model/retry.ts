import type { MachineCode, MachineError } from '../../driver/contract/errors.ts';

/** The waits between attempts, in milliseconds. The wait doubles with each attempt up to `maxMs`. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** The shortest wait before a retry. Source: machine-controller-manager, pkg/util/provider/machineutils/utils.go. */
const SHORT_RETRY_MS = 5_000;
const MEDIUM_RETRY_MS = 180_000;
export const LONG_RETRY_MS = 600_000;

// The first wait after a temporary error is 5 s, as in the original.
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
 * The waits before another `create` call. For `ResourceExhausted`, the flag `--resource-exhausted-retry` overrides the
 * wait.
 */
export const CREATE_RETRY: RetryTable = table(medium, { ResourceExhausted: long });
export const INITIALIZE_RETRY: RetryTable = table(transient);
export const LOOKUP_RETRY: RetryTable = table(medium);
const POWER_RETRY: RetryTable = table(medium);
/** mcm retries a deletion without a limit, because an existing VM costs money. */
export const DELETE_RETRY: RetryTable = table(long);

/** The waits before a retry, by the kind of driver call and the error code. */
export const CALL_RETRIES = {
  create: CREATE_RETRY,
  initialize: INITIALIZE_RETRY,
  status: LOOKUP_RETRY,
  stop: POWER_RETRY,
  start: POWER_RETRY,
  delete: DELETE_RETRY,
} as const;

/** Returns true for temporary errors, after which an early retry may succeed. */
export const isTransient = (code: MachineCode): boolean =>
  code === 'Unknown' || code === 'DeadlineExceeded' || code === 'Aborted' || code === 'Unavailable';

/** Returns the wait before a retry, or a longer wait that the cloud requests. */
export function retryAfter(backoff: Backoff, error: MachineError, failures: number): number {
  const doubled = backoff.firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 30);
  return Math.max(Math.min(doubled, backoff.maxMs), error.retryAfterMs ?? 0);
}
