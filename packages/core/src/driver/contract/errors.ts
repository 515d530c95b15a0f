import type { MachineCode } from '@mcm/api';
import type { FoundInstance } from './driver.ts';
import { boundedWait } from './retry-after.ts';

export type { MachineCode };

/** The error of a driver. Any other error is treated as `Unknown`. */
export class MachineError extends Error {
  override readonly name = 'MachineError';
  readonly code: MachineCode;
  /** The wait before the next attempt that the cloud requests, in milliseconds, at most one hour. */
  readonly retryAfterMs: number | undefined;

  /** True if the cloud refuses the credentials. The code can be any code. The caller may try other credentials. */
  readonly credentialsRefused: boolean;

  /** True if the cloud throttles the call. All calls with the same credentials then slow down. */
  readonly throttled: boolean;

  /**
   * True if the driver threw something other than a `MachineError`. This is a bug of the driver or of a library that it
   * uses.
   */
  readonly unexpected: boolean;

  /**
   * The field to change, if the message cannot name it. It is `secret` for the class's Secrets, otherwise a path in the
   * class such as `providerSpec.zone`. It is added to the message. Set it only for errors that occur before any request to
   * the cloud.
   */
  readonly place: 'secret' | `providerSpec.${string}` | undefined;

  /**
   * The VMs of the machine, if a lookup found some but cannot return one. For `Uninitialized` it is one VM, for `OutOfRange`
   * several. The machine controller adopts one for a machine without a recorded VM.
   */
  readonly found: readonly FoundInstance[];

  /** True if the class or its Secrets are invalid, so the driver was not called and the cloud got no request. */
  readonly unsent: boolean;

  /** @param options.throttled By default true for `Unavailable` with a wait that the cloud requests. */
  constructor(
    code: MachineCode,
    message: string,
    options: {
      cause?: unknown;
      retryAfterMs?: number | undefined;
      credentialsRefused?: boolean;
      throttled?: boolean;
      unexpected?: boolean;
      place?: MachineError['place'] | undefined;
      found?: readonly FoundInstance[];
      unsent?: boolean;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterMs = boundedWait(options.retryAfterMs);
    this.credentialsRefused = options.credentialsRefused ?? (code === 'Unauthenticated' || code === 'PermissionDenied');
    this.unexpected = options.unexpected ?? false;
    this.place = options.place;
    this.found = options.found ?? [];
    this.unsent = options.unsent ?? false;
    this.throttled = options.throttled ?? (code === 'Unavailable' && this.retryAfterMs !== undefined);
  }

  /** Converts any thrown value into a `MachineError`. */
  static from(thrown: unknown): MachineError {
    if (thrown instanceof MachineError) return thrown;
    const message = thrown instanceof Error ? thrown.message : textOf(thrown);
    return new MachineError('Unknown', message, { cause: thrown, unexpected: true });
  }
}

/** An object without a prototype, or with a `toString` that throws, must not cause another error here. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'the thrown value is not an Error';
  }
}
