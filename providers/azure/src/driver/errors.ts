import { type MachineCode, MachineError, TokenRefused, TokenUnavailable } from '@mcm/core/driver';
import { tryParseJson } from '@mcm/kube';
import { ArmError } from '../arm/error.ts';
import { WrongPrincipal } from './principal.ts';

const EXHAUSTED = new Set(['ZonalAllocationFailed', 'SkuNotAvailable', 'AllocationFailed', 'ResourceQuotaExceeded']);

export function isExhausted(thrown: unknown): boolean {
  if (!(thrown instanceof ArmError)) return false;
  const { code } = thrown;
  const text = indented(thrown.text);
  if (code === 'OperationNotAllowed') return /exceeding.*quota/i.test(text);
  if (code === 'BadRequest') return /not\s+supported/i.test(text);
  return EXHAUSTED.has(code);
}

/**
 * Formats JSON with one line for each property, as the original does. The rules of the original search for words within
 * one line.
 */
function indented(text: string): string {
  const value = tryParseJson(text);
  return value === undefined ? text : JSON.stringify(value, null, 2);
}

/** Returns true if the resource does not exist. A 404 without an error code comes from a proxy or a wrong endpoint. */
export const isAbsent = (thrown: unknown): boolean =>
  thrown instanceof ArmError && thrown.status === 404 && thrown.code !== '';

const isCredentialsRefused = (thrown: unknown): boolean =>
  thrown instanceof TokenRefused ||
  (thrown instanceof ArmError && (thrown.status === 401 || thrown.code === 'AuthorizationFailed'));

/** Converts an error to a machine error. As in the original, the default machine code is `Internal`. */
export function fromCloud(
  thrown: unknown,
  what: string,
  signal: AbortSignal,
  code: MachineCode = 'Internal',
): MachineError {
  if (thrown instanceof MachineError) return thrown;
  if (signal.aborted && signal.reason instanceof MachineError) return signal.reason;
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  const later = thrown instanceof TokenUnavailable || (thrown instanceof ArmError && thrown.status === 429);
  const retryAfterMs =
    thrown instanceof ArmError || thrown instanceof TokenUnavailable ? thrown.retryAfterMs : undefined;
  const own: MachineCode = signal.aborted ? 'Canceled' : later && code === 'Internal' ? 'Unavailable' : code;
  return new MachineError(own, `${what}${why}`, {
    cause: thrown,
    credentialsRefused: isCredentialsRefused(thrown),
    place: thrown instanceof WrongPrincipal ? 'secret' : undefined,
    retryAfterMs: retryAfterMs || undefined,
  });
}
