import type { MachineCode } from '@mcm/api';

/** What kind of failure a code tells of. */
export type ErrorCategory = 'capacity or quota' | 'credentials' | 'invalid input' | 'transient' | 'internal';

/** Where a failure is to be mended. `nobody`: it passes by itself. */
export type Fault = 'the user' | 'the cloud' | 'the driver' | 'nobody';

/** What an error means: what kind of failure it is, and whose it is to mend. */
export interface ErrorKind {
  readonly category: ErrorCategory;
  readonly fault: Fault;
}

const kind = (category: ErrorCategory, fault: Fault): ErrorKind => ({ category, fault });
const invalid = kind('invalid input', 'the user');
const credentials = kind('credentials', 'the user');
const transient = kind('transient', 'nobody');
const driver = kind('internal', 'the driver');

/** By code, never by text, so that a failure keeps its kind through retries and restarts (incident 29). */
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

/** Of a code as it stands in `status.lastOperation.errorCode`; undefined for text that is none. */
export const errorKindOf = (code: string): ErrorKind | undefined =>
  Object.hasOwn(KINDS, code) ? KINDS[code as MachineCode] : undefined;
