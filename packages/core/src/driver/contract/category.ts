import type { MachineCode } from '@mcm/api';

/** The kind of a failure, from its code. */
export type ErrorCategory = 'capacity or quota' | 'credentials' | 'invalid input' | 'transient' | 'internal';

/** The party that can fix a failure. `a retry`: the controller retries, and nothing else is necessary. */
export type Fault = 'the user' | 'the cloud' | 'the driver' | 'a retry';

/** The meaning of an error: its kind, and the party that can fix it. */
export interface ErrorKind {
  readonly category: ErrorCategory;
  readonly fault: Fault;
}

const kind = (category: ErrorCategory, fault: Fault): ErrorKind => ({ category, fault });
const invalid = kind('invalid input', 'the user');
const credentials = kind('credentials', 'the user');
const transient = kind('transient', 'a retry');
const driver = kind('internal', 'the driver');

/** By code and not by text, so a failure keeps its kind through retries and restarts (incident 29). */
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

/** The kind of a code of `status.lastOperation.errorCode`; undefined for a text that is not a code. */
export const errorKindOf = (code: string): ErrorKind | undefined =>
  Object.hasOwn(KINDS, code) ? KINDS[code as MachineCode] : undefined;
