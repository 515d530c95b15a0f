import type { MachineCode } from '@mcm/api';

/** The category of a failure, derived from its code. */
export type ErrorCategory = 'capacity or quota' | 'credentials' | 'invalid input' | 'transient' | 'internal';

/**
 * The party that can fix a failure: the user, the cloud or the driver. The fault `a retry` means that a later attempt
 * succeeds without a fix.
 */
export type Fault = 'the user' | 'the cloud' | 'the driver' | 'a retry';

/** The category of an error, and the party that can fix the failure. */
export interface ErrorKind {
  readonly category: ErrorCategory;
  readonly fault: Fault;
}

const kind = (category: ErrorCategory, fault: Fault): ErrorKind => ({ category, fault });
const invalid = kind('invalid input', 'the user');
const credentials = kind('credentials', 'the user');
const transient = kind('transient', 'a retry');
const driver = kind('internal', 'the driver');

/** The category depends only on the error code, so retries and restarts do not change the category (incident 29). */
const KINDS: Readonly<Record<MachineCode, ErrorKind>> = {
  OK: driver,
  Canceled: transient,
  Unknown: kind('internal', 'the cloud'),
  InvalidArgument: invalid,
  DeadlineExceeded: transient,
  NotFound: invalid,
  AlreadyExists: invalid,
  PermissionDenied: credentials,
  ResourceExhausted: kind('capacity or quota', 'the cloud'),
  FailedPrecondition: invalid,
  Aborted: transient,
  OutOfRange: invalid,
  Unimplemented: driver,
  Internal: kind('internal', 'the cloud'),
  Unavailable: transient,
  DataLoss: kind('internal', 'the cloud'),
  Unauthenticated: credentials,
  Uninitialized: transient,
};

/** Returns the category of an error code from `status.lastOperation.errorCode`. */
export const errorKindOf = (code: string): ErrorKind | undefined =>
  Object.hasOwn(KINDS, code) ? KINDS[code as MachineCode] : undefined;
