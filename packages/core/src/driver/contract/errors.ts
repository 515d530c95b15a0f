import type { MachineCode } from '@mcm/api';
import type { FoundInstance } from './driver.ts';
import { boundedWait } from './retry-after.ts';

export type { MachineCode };

/** The error of a driver. Any other error counts as `Unknown`. */
export class MachineError extends Error {
  override readonly name = 'MachineError';
  readonly code: MachineCode;
  /** The wait before the next attempt that the cloud requests, in milliseconds; limited to one hour. */
  readonly retryAfterMs: number | undefined;

  /** The cloud refuses the credentials, independent of the code. Other credentials may be tried. */
  readonly credentialsRefused: boolean;

  /** The cloud throttles the call. All calls with the same credentials slow down. */
  readonly throttled: boolean;

  /** The driver threw something other than a `MachineError`: a fault of the driver, or of a library that it uses. */
  readonly unexpected: boolean;

  /**
   * The field to change, if the message cannot name it: `secret` for the class's Secrets, otherwise a path in the class
   * such as `providerSpec.zone`. It is added to the message. Only for errors that are found before any request to the
   * cloud.
   */
  readonly place: 'secret' | `providerSpec.${string}` | undefined;

  /**
   * The VMs of the machine in the cloud, if a lookup cannot return one: the one that is `Uninitialized`, or those that
   * are `OutOfRange`. The machine controller adopts one for a machine without a VM on record.
   */
  readonly found: readonly FoundInstance[];

  /** The class or its Secrets were refused before the driver was called, so nothing was sent to the cloud. */
  readonly unsent: boolean;

  /** @param options.throttled Default: true for an `Unavailable` with a wait that the cloud requests. */
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

/** An object without a prototype, or with a `toString` that throws, must not throw here. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'the thrown value is not an Error';
  }
}
