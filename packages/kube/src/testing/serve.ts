import { seededRandom } from '../base/random.ts';
import { createClient } from '../client/create-client.ts';
import type { Clock } from '../clock/clock.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import type { Transport } from '../contract/transport.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';

export interface ServeOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly controllers: false;
  readonly requestLog: (entry: { readonly method: string; readonly path: string; readonly code: number }) => void;
}

interface Served {
  readonly transport: Transport;
  close(): Promise<void>;
}

/**
 * Starts an API server in this process with a virtual clock. The test passes the server, because this package must not
 * import a server package.
 */
export async function serve<S extends Served>(start: (options: ServeOptions) => Promise<S>) {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const writes: string[] = [];
  const server = await start({
    clock,
    random: () => random.next(),
    controllers: false,
    requestLog: ({ method, path, code }) => {
      if (method !== 'GET' && code < 400) writes.push(`${method} ${path.split('?', 1)[0]}`);
    },
  });
  const { transport } = server;
  const client = createClient({ transport, userAgent: 'test', clock });
  return { clock, server, transport, client, random, log: createMemoryLogger(), writes };
}
