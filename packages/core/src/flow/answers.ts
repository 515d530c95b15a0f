import { KubeError } from '@mcm/kube';

/** Returns true if the server may have executed a request although its response was an error or was lost. */
export const mayHaveHappened = (error: unknown): boolean =>
  error instanceof KubeError && (error.code === 0 || error.code === 504);

/** Returns undefined after an error. Use this function only if the caller throws another error anyway. */
export const settled = async <T>(promise: Promise<T>): Promise<T | undefined> => {
  const [result] = await Promise.allSettled([promise]);
  return result.status === 'fulfilled' ? result.value : undefined;
};
