import type { ObserveApi } from '@mcm/core/driver';
import type { Clock } from '@mcm/kube';

/** Runs a request and tells of it under the original's name of the service. */
export type Timed = <T>(service: string, work: () => Promise<T>) => Promise<T>;

export const timedBy =
  (clock: Clock, observe: ObserveApi | undefined): Timed =>
  async (service, work) => {
    const since = clock.now().getTime();
    const told = (error: unknown): void => observe?.(service, clock.now().getTime() - since, error);
    try {
      const result = await work();
      told(undefined);
      return result;
    } catch (error) {
      told(error);
      throw error;
    }
  };
