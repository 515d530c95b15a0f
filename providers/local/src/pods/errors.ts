import { type MachineCode, MachineError } from '@mcm/core/driver';
import { isNotFound, KubeError } from '@mcm/kube';

const QUOTA = /exceeded quota/;

/** Returns true if the object does not exist. A 404 without a Status comes from a proxy or a wrong address. */
export const isAbsent = (thrown: unknown): boolean => isNotFound(thrown) && thrown.status.reason === 'NotFound';

export async function ignoreAbsent<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (thrown) {
    if (isAbsent(thrown)) return undefined;
    throw thrown;
  }
}

/**
 * Converts an error of the API server. A temporary error has the code `Unavailable`, and the controller retries the
 * call within seconds.
 */
export function fromApi(thrown: unknown, signal: AbortSignal, otherwise: MachineCode): MachineError {
  if (thrown instanceof MachineError) return thrown;
  if (signal.aborted) {
    if (signal.reason instanceof MachineError) return signal.reason;
    return new MachineError('Canceled', 'the caller canceled the call', { cause: signal.reason });
  }
  if (!(thrown instanceof KubeError)) return MachineError.from(thrown);
  const { code, message, retryAfterMs } = thrown;
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (code === 403 && QUOTA.test(message)) return new MachineError('ResourceExhausted', message, { cause: thrown });
  if (code === 401 || code === 403)
    return new MachineError(otherwise, message, { cause: thrown, credentialsRefused: true });
  if (code === 0 || code === 429 || code === 503 || (code === 404 && !isAbsent(thrown)))
    return new MachineError('Unavailable', message, { cause: thrown, throttled: code === 429, ...wait });
  return new MachineError(otherwise, message, { cause: thrown });
}
