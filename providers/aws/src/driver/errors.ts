import { type MachineCode, MachineError, TokenRefused, TokenUnavailable } from '@mcm/core/driver';
import { isThrottle } from '../ec2/attempts.ts';
import { NoKeys } from '../ec2/credentials.ts';
import { CREDENTIALS_REFUSED, Refusal } from '../ec2/refusal.ts';

/** Source: pkg/aws/errors of the original. */
const EXHAUSTED = new Set([
  'InsufficientAddressCapacity',
  'InsufficientCapacity',
  'InsufficientInstanceCapacity',
  'InsufficientVolumeCapacity',
  'InstanceLimitExceeded',
  'MaxIOPSLimitExceeded',
  'RouteLimitExceeded',
  'Unsupported',
  'VcpuLimitExceeded',
  'VolumeLimitExceeded',
]);

export const isExhausted = (code: string): boolean => EXHAUSTED.has(code);
export const isAbsentInstance = (error: unknown): boolean =>
  error instanceof Refusal && error.code === 'InvalidInstanceID.NotFound';

/**
 * Converts an error of EC2 to a machine code.
 * - `otherwise` is the code for all other errors. As in the original, `otherwise` is `Uninitialized` for `initialize`,
 *   and `Internal` for all other calls.
 * - Throttling has the code `Unavailable`. In the original, the code is `Internal`, after which the machine waits for
 *   minutes.
 * - A cancellation by the caller has the code `Canceled`.
 */
export function fromCloud(thrown: unknown, signal: AbortSignal, otherwise: MachineCode = 'Internal'): MachineError {
  if (thrown instanceof MachineError) return thrown;
  if (signal.aborted) return MachineError.from(signal.reason instanceof MachineError ? signal.reason : ended(signal));
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if ((isThrottle(thrown) || isLoginDown(thrown)) && otherwise === 'Internal') {
    const reported = thrown instanceof Refusal || thrown instanceof TokenUnavailable;
    const retryAfterMs = reported ? thrown.retryAfterMs : undefined;
    return new MachineError('Unavailable', message, { cause: thrown, retryAfterMs: retryAfterMs || undefined });
  }
  return new MachineError(otherwise, message, { cause: thrown, credentialsRefused: isRefusedCredentials(thrown) });
}

/** Returns true if the service for credentials did not respond. */
const isLoginDown = (thrown: unknown): boolean =>
  thrown instanceof TokenUnavailable ||
  (thrown instanceof Refusal && thrown.action.startsWith('AssumeRole') && thrown.status >= 500);

const isRefusedCredentials = (thrown: unknown): boolean =>
  thrown instanceof Refusal
    ? CREDENTIALS_REFUSED.has(thrown.code)
    : thrown instanceof NoKeys || thrown instanceof TokenRefused;

export function fromLaunch(thrown: unknown, signal: AbortSignal): MachineError {
  const exhausted = !signal.aborted && thrown instanceof Refusal && isExhausted(thrown.code);
  return exhausted
    ? new MachineError('ResourceExhausted', thrown.message, { cause: thrown })
    : fromCloud(thrown, signal);
}

const ended = ({ reason }: AbortSignal): MachineError => {
  const timeout = reason instanceof Error && reason.name === 'TimeoutError';
  return new MachineError(timeout ? 'DeadlineExceeded' : 'Canceled', 'the caller cancelled the call', {
    cause: reason,
  });
};
