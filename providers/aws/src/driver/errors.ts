import { type MachineCode, MachineError, TokenRefused, TokenUnavailable } from '@mcm/core/driver';
import { isThrottle } from '../ec2/attempts.ts';
import { NoKeys } from '../ec2/credentials.ts';
import { CREDENTIALS_REFUSED, Refusal } from '../ec2/refusal.ts';

/** The error codes for a lack of capacity or quota. Source: the original's pkg/aws/errors. */
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
 * - `otherwise` is the code of all remaining errors: `Internal`, and `Uninitialized` for `initialize`, as in the
 *   original.
 * - Throttling is `Unavailable`, because the `Internal` of the original lets the machine wait for minutes.
 * - A cancellation by the caller is `Canceled`.
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

/**
 * Whether the service for keys did not respond. If the service for keys did not respond, the driver sent no request to
 * EC2, and the keys may be valid.
 */
const isLoginDown = (thrown: unknown): boolean =>
  thrown instanceof TokenUnavailable ||
  (thrown instanceof Refusal && thrown.action.startsWith('AssumeRole') && thrown.status >= 500);

const isRefusedCredentials = (thrown: unknown): boolean =>
  thrown instanceof Refusal
    ? CREDENTIALS_REFUSED.has(thrown.code)
    : thrown instanceof NoKeys || thrown instanceof TokenRefused;

/** Converts an error of a launch. A lack of capacity or quota has a special code. */
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
