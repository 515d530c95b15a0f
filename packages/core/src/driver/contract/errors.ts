import type { MachineCode } from '@mcm/api';
import type { FoundInstance } from './driver.ts';
import { boundedWait } from './retry-after.ts';

export type { MachineCode };

/** The error that drivers throw. mcm treats an error of any other class as `Unknown`. */
export class MachineError extends Error {
  override readonly name = 'MachineError';
  readonly code: MachineCode;
  /** The wait time that the cloud requests, in milliseconds, at most one hour. */
  readonly retryAfterMs: number | undefined;

  /** Whether the cloud refused the credentials, so that the caller may try other credentials. */
  readonly credentialsRefused: boolean;

  /** Whether the cloud throttles calls. After a throttled call, mcm slows down all calls with the same credentials. */
  readonly throttled: boolean;

  /** Whether the driver threw an error that is not a `MachineError`, probably because of a bug in the driver. */
  readonly unexpected: boolean;

  /**
   * The field that the user must change, if the message does not name the field: `secret` or a path in the class. Set
   * `place` only for errors that occur before the first request to the cloud.
   */
  readonly place: 'secret' | `providerSpec.${string}` | undefined;

  /** The VMs of the machine: one VM for `Uninitialized`, several VMs for `OutOfRange`. */
  readonly found: readonly FoundInstance[];

  /** Whether the error occurred before the driver was called, because the class or its Secrets are invalid. */
  readonly unsent: boolean;

  /** @param options.throttled true by default if the code is `Unavailable` and the cloud requests a wait time */
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

/** The conversion of a thrown value to text can throw, for example for an object without a prototype. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'the driver threw a value that is not an Error';
  }
}
