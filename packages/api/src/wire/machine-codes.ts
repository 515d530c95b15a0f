/**
 * Machine error codes by name. The numbers 0–16 are the codes of gRPC. The original adds the number 17. Source:
 * machine-controller-manager, pkg/util/provider/machinecodes/codes.
 */
export const MachineCodes = {
  OK: 0,
  Canceled: 1,
  Unknown: 2,
  InvalidArgument: 3,
  DeadlineExceeded: 4,
  NotFound: 5,
  AlreadyExists: 6,
  PermissionDenied: 7,
  ResourceExhausted: 8,
  FailedPrecondition: 9,
  Aborted: 10,
  OutOfRange: 11,
  Unimplemented: 12,
  Internal: 13,
  Unavailable: 14,
  DataLoss: 15,
  Unauthenticated: 16,
  Uninitialized: 17,
} as const;

/** A code in `status.lastOperation.errorCode`. */
export type MachineCode = keyof typeof MachineCodes;

/** Number of a machine error code. */
export type MachineCodeNumber = (typeof MachineCodes)[MachineCode];

const NAMES = new Map<number, MachineCode>(
  Object.entries(MachineCodes).map(([name, number]) => [number, name as MachineCode]),
);

/** Returns true if the text is the name of a machine error code. */
export const isMachineCode = (text: string): text is MachineCode => Object.hasOwn(MachineCodes, text);

/** Returns the name of a machine error code. An unknown number becomes `Code(<n>)`, as in the original. */
export const machineCodeName = (code: number): string => NAMES.get(code) ?? `Code(${code})`;
