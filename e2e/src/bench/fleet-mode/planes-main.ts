import { createServer, connect as dial, type Socket } from 'node:net';
import { crds } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { createClient, type Node, nodes, realClock } from '@mcm/kube';
import { hollowNode } from './objects.ts';
import type { HostRequest, HostResponse } from './planes.ts';

/** This process runs the seed, or the target clusters of a fleet. */

const requests = new Map<string, number>();
const relays: Relay[] = [];

class Relay {
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  #stuck = false;

  constructor(port: number) {
    this.#port = port;
  }

  async listen(): Promise<number> {
    const server = createServer((client) => {
      const plane = dial(this.#port, '127.0.0.1');
      for (const [from, to] of [
        [client, plane],
        [plane, client],
      ] as const) {
        this.#sockets.add(from);
        from.pipe(to);
        from.on('error', () => to.destroy());
        from.on('close', () => {
          this.#sockets.delete(from);
          to.destroy();
        });
        if (this.#stuck) from.pause();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the relay has no port');
    return address.port;
  }

  set stuck(stuck: boolean) {
    this.#stuck = stuck;
    for (const socket of this.#sockets) {
      if (stuck) socket.pause();
      else socket.resume();
    }
  }
}

async function furnish(plane: ControlPlane, count: number): Promise<void> {
  const client = createClient({ transport: plane.transport, userAgent: 'bench', clock: realClock });
  for (let index = 0; index < count; index += 1) await client.resource<Node>(nodes).create(hollowNode(index));
}

async function seed(): Promise<string> {
  const plane = await startControlPlane({
    port: 0,
    controllers: false,
    crds,
    requestLog: ({ verb, resource, userAgent = '' }) => {
      const [program = ''] = userAgent.split('/');
      const what = `${program} ${verb} ${resource}`;
      requests.set(what, (requests.get(what) ?? 0) + 1);
    },
  });
  return plane.kubeconfig();
}

async function target(machines: number): Promise<string> {
  const plane = await startControlPlane({ port: 0, controllers: false });
  await furnish(plane, machines);
  const port = new URL(plane.url ?? '').port;
  const relay = new Relay(Number(port));
  relays.push(relay);
  return plane.kubeconfig().replaceAll(`:${port}`, `:${await relay.listen()}`);
}

async function answer(request: HostRequest): Promise<HostResponse> {
  if (request.do === 'seed') return { kubeconfigs: [await seed()] };
  if (request.do === 'targets') {
    const kubeconfigs: string[] = [];
    for (let index = 0; index < request.count; index += 1) kubeconfigs.push(await target(request.machines));
    return { kubeconfigs };
  }
  if (request.do === 'stick') {
    const relay = relays[request.index];
    if (relay !== undefined) relay.stuck = request.stuck;
    return {};
  }
  const counts = Object.fromEntries(requests);
  requests.clear();
  return { counts };
}

process.on('message', (request: HostRequest) => {
  answer(request).then(
    (response) => process.send?.(response),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit(0));
