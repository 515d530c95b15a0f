import type { MachineCode } from '@mcm/api';
import type { FoundInstance } from './driver.ts';
import { boundedWait } from './retry-after.ts';

export type { MachineCode };

/** The error of a driver. Any error of another class is treated as `Unknown`. */
export class MachineError extends Error {
  override readonly name = 'MachineError';
  readonly code: MachineCode;
  /** The wait that the cloud requests, in milliseconds, at most one hour. */
  readonly retryAfterMs: number | undefined;

  /**
   * `credentialsRefused` is true if the cloud refuses the credentials, with any code. After refused credentials, the
   * caller may try other credentials.
   */
  readonly credentialsRefused: boolean;

  /** `throttled` is true if the cloud throttles the call. mcm then slows down all calls with the same credentials. */
  readonly throttled: boolean;

  /**
   * `unexpected` is true if the driver threw an error of another class, because of a bug in the driver or in one of its
   * libraries.
   */
  readonly unexpected: boolean;

  /**
   * The field that the user must change, if the message does not contain it. The value is `secret` for the Secrets of
   * the class, or a path in the class. mcm adds the field to the message. Set `place` only for errors before any
   * request to the cloud.
   */
  readonly place: 'secret' | `providerSpec.${string}` | undefined;

  /**
   * The VMs of the machine, for `Uninitialized` (one VM) or `OutOfRange` (several VMs). A machine without a recorded VM
   * adopts one of the found VMs.
   */
  readonly found: readonly FoundInstance[];

  /** `unsent` is true if the class or its Secrets are invalid, so that mcm did not call the driver. */
  readonly unsent: boolean;

  /** @param options.throttled The default is true for `Unavailable` with a wait time from the cloud */
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

  static from(thrown: unknown): MachineError {
    if (thrown instanceof MachineError) return thrown;
    const message = thrown instanceof Error ? thrown.message : textOf(thrown);
    return new MachineError('Unknown', message, { cause: thrown, unexpected: true });
  }
}

/** An object without a prototype, or with a `toString` that throws, must not cause a second error. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'the thrown value is not an Error';
  }
}
