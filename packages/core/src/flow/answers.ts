import { KubeError } from '@mcm/kube';

/** True if the server may have executed a request without confirming it in time. */
export const mayHaveHappened = (error: unknown): boolean =>
  error instanceof KubeError && (error.code === 0 || error.code === 504);

/** The answer, or undefined on a failure. Use it only where the caller throws an earlier failure anyway. */
export const settled = async <T>(promise: Promise<T>): Promise<T | undefined> => {
  const [result] = await Promise.allSettled([promise]);
  return result.status === 'fulfilled' ? result.value : undefined;
};
