import { KubeError } from '@mcm/kube';

/** Returns true if the API server may have executed a request although its response was an error or was lost. */
export const mayHaveHappened = (error: unknown): boolean =>
  error instanceof KubeError && (error.code === 0 || error.code === 504);

/**
 * Returns the result of the promise, or undefined if the promise rejects. `settled` drops the error of the promise, so
 * the caller must throw its own error.
 */
export const settled = async <T>(promise: Promise<T>): Promise<T | undefined> => {
  const [result] = await Promise.allSettled([promise]);
  return result.status === 'fulfilled' ? result.value : undefined;
};
