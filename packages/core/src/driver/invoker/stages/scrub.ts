import { MachineError } from '../../contract/errors.ts';
import { redact } from '../../secrets/redact.ts';
import type { SecretValues } from '../../secrets/secret-value.ts';

/**
 * Returns a copy of an error without secrets, and adds the hint to the message. `cause` is copied unchanged. The caller
 * must pass a cause without secrets, because an error of a library may contain the whole request.
 */
export function scrub(error: MachineError, secrets: SecretValues, hint?: string, cause?: unknown): MachineError {
  const { code, retryAfterMs, credentialsRefused, throttled, unexpected, place, found, unsent } = error;
  const message = redact(
    hint === undefined ? error.message : `${error.message.replace(/\.\s*$/, '')}; ${hint}`,
    secrets,
  );
  return new MachineError(code, message, {
    credentialsRefused,
    throttled,
    unexpected,
    found,
    unsent,
    place: hint === undefined && place !== undefined ? place : undefined,
    cause,
    retryAfterMs,
  });
}
