import type { MachineCode } from '@mcm/api';
import type { FoundInstance } from './driver.ts';
import { boundedWait } from './retry-after.ts';

export type { MachineCode };

/** What a driver throws. Anything else that it throws counts as `Unknown`. */
export class MachineError extends Error {
  override readonly name = 'MachineError';
  readonly code: MachineCode;
  /** How long the cloud asked to wait before the next try, in milliseconds; an hour at most, whatever it asked. */
  readonly retryAfterMs: number | undefined;

  /** The cloud refuses the credentials, whatever the code: others may be tried. */
  readonly credentialsRefused: boolean;

  /** The cloud refuses the call for there being too many: those of everybody with the same credentials are spaced. */
  readonly throttled: boolean;

  /** The driver threw something that is no `MachineError`: a fault of the driver, or of a library that it uses. */
  readonly unexpected: boolean;

  /**
   * Where that stands which is to be changed, where the message cannot name it: `secret` for the class's Secrets, else a path of the
   * class, `providerSpec.zone`. It is told after the message. For what is found out before the cloud is asked.
   */
  readonly place: 'secret' | `providerSpec.${string}` | undefined;

  /**
   * The VMs that the cloud has for the machine, where a look-up cannot answer with one: that which is `Uninitialized`, or
   * those that are `OutOfRange`. The machine controller adopts one for a machine that has none on record.
   */
  readonly found: readonly FoundInstance[];

  /** Class or Secrets were refused before the driver was called: nothing was sent to the cloud. */
  readonly unsent: boolean;

  /** @param options.throttled Default: an `Unavailable` for which the cloud said how long to wait. */
  constructor(
    code: MachineCode,
    message: string,
    options: {
      cause?: unknown;
      retryAfterMs?: number;
      credentialsRefused?: boolean;
      throttled?: boolean;
      unexpected?: boolean;
      place?: MachineError['place'];
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

  /** Turns anything thrown into a `MachineError`, once, at the border. */
  static from(thrown: unknown): MachineError {
    if (thrown instanceof MachineError) return thrown;
    const message = thrown instanceof Error ? thrown.message : textOf(thrown);
    return new MachineError('Unknown', message, { cause: thrown, unexpected: true });
  }
}

/** An object without a prototype, or whose own `toString` throws, must not throw again here. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'something that is no error was thrown';
  }
}
