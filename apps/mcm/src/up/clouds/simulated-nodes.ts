import { randomBytes } from 'node:crypto';
import { Labels, type Machine, machines } from '@mcm/api';
import {
  type Clock,
  type ClusterConfig,
  createInformer,
  type KubeClient,
  type Logger,
  type Random,
  type Secret,
  secrets,
  undiciTransport,
} from '@mcm/kube';
import {
  type Instance,
  type KubeletBehaviour,
  KubeletHost,
  type KubeletHostOptions,
  MemoryStore,
  storedMemory,
} from '@mcm/provider-local';
import { isPastDrain } from '../../explain/machine/machine-wait.ts';

const CONNECTIONS = 16;
const SHAPE = { name: 'simulated', cpus: 4, memoryGi: 16, gpus: 0 };

export interface SimulatedNodeOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly connections: Pick<KubeletHostOptions, 'connect' | 'nodeCluster'>;
  readonly userData: string;
  readonly defaults?: KubeletBehaviour;
  /** Returns random hexadecimal digits for a bootstrap token. */
  readonly hex?: (bytes: number) => string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

const secureHex = (bytes: number): string => randomBytes(bytes).toString('hex');

export const connectionsTo = (cluster: ClusterConfig): SimulatedNodeOptions['connections'] => ({
  connect: (address) => undiciTransport({ server: address.server, ca: address.ca || undefined }),
  nodeCluster: {
    server: cluster.server,
    transport: undiciTransport({ ...cluster, connections: CONNECTIONS }),
    bare: undiciTransport({ server: cluster.server, connections: CONNECTIONS, ca: cluster.ca }),
  },
});

async function newToken({ client, signal, hex = secureHex }: SimulatedNodeOptions): Promise<string> {
  const [id, secret] = [hex(3), hex(8)];
  const data = {
    'token-id': id,
    'token-secret': secret,
    'usage-bootstrap-authentication': 'true',
    'usage-bootstrap-signing': 'true',
    'auth-extra-groups': 'system:bootstrappers:mcm',
  };
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  await client.resource<Secret>(secrets, 'kube-system').create(
    {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'bootstrap.kubernetes.io/token',
      metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
      data: Object.fromEntries(encoded),
    },
    { signal },
  );
  return `${id}.${secret}`;
}

/** Simulates a kubelet for each machine with a VM, because the VMs of a simulated cloud do not run a kubelet. */
export async function simulateNodes(options: SimulatedNodeOptions): Promise<KubeletHost> {
  const { client, namespace, connections, clock, random, log, signal, defaults = {} } = options;
  const token = await newToken(options);
  const host = new KubeletHost({
    clock,
    random,
    log,
    memory: storedMemory(new MemoryStore()),
    defaults,
    ...connections,
  });
  const joined = new Set<string>();
  const userData = options.userData.replace('<<BOOTSTRAP_TOKEN>>', token);
  const end = (uid: string): void => {
    if (!joined.delete(uid)) return;
    host.halt(uid).then(
      () => host.forget(uid),
      (error: unknown) => log.error('Simulated kubelet did not stop', { error }),
    );
  };
  const informer = createInformer<Machine>(client, machines, { clock, random, log, namespace });
  informer.onChange(({ type, object }) => {
    const { uid } = object.metadata;
    if (type === 'deleted' || (object.metadata.deletionTimestamp !== undefined && isPastDrain(object))) return end(uid);
    const instance = instanceOf(object, userData);
    if (instance === undefined || joined.has(uid)) return;
    joined.add(uid);
    host.boot(instance, SHAPE, { resumed: false, orders: [], console: () => undefined });
  });
  signal.addEventListener('abort', () => void host.close(), { once: true });
  void informer.run(signal);
  return host;
}

/** Returns the VM of a machine. */
function instanceOf({ metadata, spec }: Machine, userData: string): Instance | undefined {
  const name = metadata.labels?.[Labels.Node];
  if (!spec.providerID || !name) return undefined;
  return {
    id: metadata.uid,
    name,
    providerId: spec.providerID,
    zone: 'simulated',
    machineType: SHAPE.name,
    image: 'simulated',
    privateIp: '10.0.0.1',
    createdAt: metadata.creationTimestamp ?? '',
    bootLatencyMs: 0,
    userData: userData.replace('<<MACHINE_NAME>>', name),
    tags: {},
    state: 'running',
    history: [],
    console: '',
  };
}
