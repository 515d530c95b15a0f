import { type MachineCode, MachineError, TokenRefused, TokenUnavailable } from '@mcm/core/driver';
import { isThrottle } from '../ec2/attempts.ts';
import { NoKeys } from '../ec2/credentials.ts';
import { CREDENTIALS_REFUSED, Refusal } from '../ec2/refusal.ts';

/** Codes that say: no capacity or no quota. Source: the original's pkg/aws/errors. */
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
 * The machine code of an error of EC2. `otherwise` is for errors without a code of their own: the original reports most errors
 * as `Internal`, and those of `initialize` as `Uninitialized`. A throttle is `Unavailable`, because with the original's
 * `Internal` the machine would wait for minutes. A cancellation by the caller gets the code Canceled.
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

/** The service that gives keys cannot answer now: nothing is said of the keys, and nothing has been done. */
const isLoginDown = (thrown: unknown): boolean =>
  thrown instanceof TokenUnavailable ||
  (thrown instanceof Refusal && thrown.action.startsWith('AssumeRole') && thrown.status >= 500);

/** Invalid keys, or no keys. */
const isRefusedCredentials = (thrown: unknown): boolean =>
  thrown instanceof Refusal
    ? CREDENTIALS_REFUSED.has(thrown.code)
    : thrown instanceof NoKeys || thrown instanceof TokenRefused;

/** The same for a launch, where a lack of capacity or quota has a code of its own. */
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
