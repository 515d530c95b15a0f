import { KubeError } from '@mcm/kube';

/** Returns true if the API server may have executed a request although its response was an error or was lost. */
export const mayHaveHappened = (error: unknown): boolean =>
  error instanceof KubeError && (error.code === 0 || error.code === 504);

/** Resolves with undefined if the promise rejects. The caller must throw another error, because this error is lost. */
export const settled = async <T>(promise: Promise<T>): Promise<T | undefined> => {
  const [result] = await Promise.allSettled([promise]);
  return result.status === 'fulfilled' ? result.value : undefined;
};
