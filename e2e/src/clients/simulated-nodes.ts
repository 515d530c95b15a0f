import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '@mcm/control-plane';
import { createClient, handlerTransport, nodes, realClock, seededRandom, silentLogger } from '@mcm/kube';
import { KubeletHost, MemoryStore, storedMemory } from '@mcm/provider-local';

const SHAPE = { name: 'simulated', cpus: 4, memoryGi: 8, gpus: 0 };
const LOOK_EVERY_MS = 100;

/**
 * Starts simulated kubelets, and resolves when their Nodes accept pods.
 * @returns A function that stops the kubelets.
 */
export async function startKubelets(plane: ControlPlane, names: readonly string[]): Promise<() => Promise<void>> {
  const transport = handlerTransport((request) => plane.fetch(request));
  const host = new KubeletHost({
    clock: realClock,
    random: seededRandom(1),
    log: silentLogger,
    memory: storedMemory(new MemoryStore()),
    connect: () => transport,
    nodeCluster: { server: plane.url ?? '', transport, bare: transport },
  });
  for (const [index, name] of names.entries())
    host.boot(
      {
        id: name,
        name,
        zone: 'simulated',
        machineType: SHAPE.name,
        image: 'simulated',
        privateIp: `10.180.0.${10 + index}`,
        createdAt: realClock.now().toISOString(),
        bootLatencyMs: 0,
        userData: '',
        tags: {},
        state: 'running',
        history: [],
        console: '',
      },
      SHAPE,
      { resumed: false, orders: [], console: () => undefined },
    );
  const client = createClient({ transport, userAgent: 'clients', clock: realClock });
  const isComplete = async (): Promise<boolean> => {
    const { items } = await client.resource(nodes).list();
    // When a new Node becomes ready, controllers remove its taints.
    return items.length === names.length && items.every(({ spec }) => (spec?.taints ?? []).length === 0);
  };
  while (!(await isComplete())) await sleep(LOOK_EVERY_MS);
  return () => host.close();
}
