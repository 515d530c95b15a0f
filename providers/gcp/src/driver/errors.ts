import { type MachineCode, MachineError, TokenRefused, TokenUnavailable } from '@mcm/core/driver';
import { Refusal } from '../gce/refusal.ts';
import { WrongAccount } from '../login/accounts.ts';

export class OperationFailed extends Error {
  override readonly name = 'OperationFailed';
  readonly codes: readonly string[];

  constructor(
    errors: readonly { readonly code?: string | null | undefined; readonly message?: string | null | undefined }[],
  ) {
    const messages = errors.map(({ message }) => message ?? '');
    super(messages.length > 0 ? messages.join('; ') : 'the operation failed without a reason');
    this.codes = errors.map(({ code }) => code ?? '');
  }
}

/** Returns true if the zone does not have the machine type. */
const lacksType = (thrown: Refusal): boolean => thrown.reported.includes('does not exist in zone');

const EXHAUSTED = new Set([
  'RESOURCE_POOL_EXHAUSTED',
  'ZONE_RESOURCE_POOL_EXHAUSTED',
  'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
]);

/**
 * Returns true if the cloud has no capacity. If the error contains several errors, the last error is checked, as in the
 * original.
 */
function isExhausted(thrown: unknown): boolean {
  if (thrown instanceof OperationFailed) {
    const last = thrown.codes.at(-1) ?? '';
    return EXHAUSTED.has(last) || last.includes('QUOTA');
  }
  if (!(thrown instanceof Refusal)) return false;
  return lacksType(thrown) || thrown.reasons.includes('quotaExceeded');
}

/** Converts an error to a machine error. As in the original, the default machine code is `Internal`. */
export function fromCloud(thrown: unknown, what: string, signal: AbortSignal, launches = false): MachineError {
  if (thrown instanceof MachineError) return thrown;
  if (signal.aborted && signal.reason instanceof MachineError) return signal.reason;
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  const reported = thrown instanceof Refusal || thrown instanceof TokenUnavailable;
  const retryAfterMs = reported ? thrown.retryAfterMs : undefined;
  return new MachineError(codeOf(thrown, signal, launches), `${what}: ${why}`, {
    cause: thrown,
    credentialsRefused: isCredentialsRefused(thrown),
    place: thrown instanceof WrongAccount ? 'secret' : undefined,
    retryAfterMs: retryAfterMs || undefined,
  });
}

/**
 * Returns true if the keys or their permissions caused the error. The machine code of such an error is `Internal`, as
 * in the original.
 */
const isCredentialsRefused = (thrown: unknown): boolean =>
  thrown instanceof TokenRefused ||
  (thrown instanceof Refusal &&
    (thrown.status === 401 ||
      (thrown.status === 403 && !thrown.throttles && !thrown.reasons.includes('quotaExceeded'))));

function codeOf(thrown: unknown, signal: AbortSignal, launches: boolean): MachineCode {
  if (signal.aborted) return 'Canceled';
  if (launches && thrown instanceof Refusal && lacksType(thrown)) return 'ResourceExhausted';
  if (thrown instanceof TokenUnavailable || (thrown instanceof Refusal && thrown.throttles)) return 'Unavailable';
  if (thrown instanceof OperationFailed || launches) return isExhausted(thrown) ? 'ResourceExhausted' : 'Internal';
  return 'Internal';
}
