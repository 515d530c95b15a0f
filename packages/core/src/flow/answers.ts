import { KubeError } from '@mcm/kube';

/** Returns true if the API server may have executed a request although its response was an error or was lost. */
export const mayHaveHappened = (error: unknown): boolean =>
  error instanceof KubeError && (error.code === 0 || error.code === 504);

/** The caller must throw another error, because `settled` drops this error. */
export const settled = async <T>(promise: Promise<T>): Promise<T | undefined> => {
  const [result] = await Promise.allSettled([promise]);
  return result.status === 'fulfilled' ? result.value : undefined;
};
