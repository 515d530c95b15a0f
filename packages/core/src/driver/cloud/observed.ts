import type { Clock } from '@mcm/kube';
import type { ObserveApi } from '../contract/driver.ts';

/** Sends a request to the cloud and reports its duration and result. */
export type ObservedCall = <T>(service: string, work: () => Promise<T>) => Promise<T>;

/** Returns a function that sends a request to the cloud and reports the result. */
export const observedCalls =
  (clock: Clock, observe: ObserveApi | undefined): ObservedCall =>
  async (service, work) => {
    const since = clock.now().getTime();
    const observed = (error: unknown): void => observe?.(service, clock.now().getTime() - since, error);
    try {
      const result = await work();
      observed(undefined);
      return result;
    } catch (error) {
      observed(error);
      throw error;
    }
  };
