import { MachineError } from '../../contract/errors.ts';
import { redact } from '../../secrets/redact.ts';
import type { SecretValues } from '../../secrets/secret-value.ts';

/**
 * Removes secrets from the message of an error, but not from its property `cause`. The cause of an error may contain
 * the whole request, so the caller must remove secrets from it.
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
