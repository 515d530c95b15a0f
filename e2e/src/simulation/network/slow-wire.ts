import { type Clock, sleep, type Transport } from '@mcm/kube';

/**
 * Delays each request and each response by a constant time. Watches have no delay.
 * @param clock Returns the clock of the simulation. Requests before the start of the clock have no delay.
 */
export const slowWire =
  (transport: Transport, clock: () => Clock | undefined, ms: number): Transport =>
  async (request) => {
    const wait = async (): Promise<void> => {
      const now = clock();
      if (now !== undefined && !request.path.includes('watch=true')) await sleep(now, ms);
    };
    await wait();
    const answer = await transport(request);
    await wait();
    return answer;
  };
