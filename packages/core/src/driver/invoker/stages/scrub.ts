import { MachineError } from '../../contract/errors.ts';
import { redact } from '../../secrets/redact.ts';
import type { SecretValues } from '../../secrets/secret-value.ts';

/** The error without secrets, and without its cause unless given, which may hold the whole request; with what to do about it. */
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
    ...(hint === undefined && place !== undefined ? { place } : {}),
    ...(cause === undefined ? {} : { cause }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
