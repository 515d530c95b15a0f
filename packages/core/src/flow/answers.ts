import { KubeError } from '@mcm/kube';

/** Returns true if the server may have executed a request although its response was an error or was lost. */
export const mayHaveHappened = (error: unknown): boolean =>
  error instanceof KubeError && (error.code === 0 || error.code === 504);

/**
 * Returns the result, or undefined after a failure. Use this function only if the caller throws an earlier failure
 * anyway.
 */
export const settled = async <T>(promise: Promise<T>): Promise<T | undefined> => {
  const [result] = await Promise.allSettled([promise]);
  return result.status === 'fulfilled' ? result.value : undefined;
};
