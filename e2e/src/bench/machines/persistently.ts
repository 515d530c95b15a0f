import { isAlreadyExists, KubeError, realClock, sleep } from '@mcm/kube';

const ATTEMPTS = 10;
const PAUSE_MS = 1_000;

/** Creates an object, and repeats the request if its response is lost. */
export async function createPersistently(create: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await create();
      return;
    } catch (error) {
      if (isAlreadyExists(error)) return;
      if (!(error instanceof KubeError && error.code === 0) || attempt === ATTEMPTS) throw error;
      await sleep(realClock, PAUSE_MS);
    }
  }
}
