import type { ObserveApi } from '@mcm/core/driver';
import type { Clock } from '@mcm/kube';

/** Runs a request and tells of it under the original's name of the service. */
export type Counted = <T>(service: string, work: () => Promise<T>) => Promise<T>;

export const countedBy =
  (clock: Clock, observe: ObserveApi | undefined): Counted =>
  async (service, work) => {
    const since = clock.now().getTime();
    const tell = (error: unknown): void => observe?.(service, clock.now().getTime() - since, error);
    try {
      const result = await work();
      tell(undefined);
      return result;
    } catch (error) {
      tell(error);
      throw error;
    }
  };
