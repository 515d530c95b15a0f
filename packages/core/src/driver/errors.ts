/** The machine codes and their numbers: gRPC's 0–16 and `Uninitialized`. The names are persisted in `status.lastOperation.errorCode`. */
export const MACHINE_CODES = {
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

export type MachineCode = keyof typeof MACHINE_CODES;

/** What a driver throws. Anything else that it throws counts as `Unknown`. */
export class MachineError extends Error {
  override readonly name = 'MachineError';
  readonly code: MachineCode;
  /** How long the cloud asked to wait before the next try, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(code: MachineCode, message: string, options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** Turns anything thrown into a `MachineError`, once, at the border. */
  static from(thrown: unknown): MachineError {
    if (thrown instanceof MachineError) return thrown;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new MachineError('Unknown', message, { cause: thrown });
  }
}
