import { crds, type Machine, machines } from '@mcm/api';
import type { Reporter } from '@mcm/conformance/fleet';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import {
  createClient,
  createInformer,
  isAlreadyExists,
  type KubeClient,
  type Node,
  nodes,
  type Pod,
  pods,
  seededRandom,
  silentLogger,
  type Transport,
  type TransportRequest,
  type VirtualClock,
} from '@mcm/kube';
import { withShortcuts } from '../network/shortcuts.ts';
import { CloudProcess } from '../world/cloud-process.ts';

interface ClusterParts {
  readonly name: string;
  readonly clock: VirtualClock;
  readonly seed: number;
  readonly reporter: Reporter;
  /**
   * The client of the seed's administrator. Without a seed, the field is undefined, because the cluster contains its
   * machine objects.
   */
  readonly admin: KubeClient | undefined;
}

const CONTAINERS = [{ name: 'main', image: 'pause' }];
const GRACE_SECONDS = 5;
const NEW_POD_MS = 5_000;
const CLOSE_MS = 60_000;

const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

export class SimulatedCluster {
  readonly name: string;
  readonly admin: KubeClient;
  readonly plane: ControlPlane;
  readonly #parts: ClusterParts;
  readonly #cloud: CloudProcess;
  readonly #end = new AbortController();
  readonly #made = new Set<string>();
  /** The number of VM deletions that the test has verified. */
  verified = 0;

  private constructor(parts: ClusterParts, plane: ControlPlane) {
    const { name, clock, seed, reporter } = parts;
    this.name = name;
    this.plane = plane;
    this.#parts = parts;
    this.admin = createClient({ transport: plane.transport, userAgent: 'simulation', clock });
    this.#cloud = new CloudProcess({
      clock,
      random: seededRandom(seed + 1),
      log: silentLogger,
      reporter,
      apiServer: withShortcuts(clock, plane.transport, { renewals: true }),
      kubelets: { joinDelay: 500 * (seed % 7) },
    });
  }

  static async start(parts: ClusterParts): Promise<SimulatedCluster> {
    const random = seededRandom(parts.seed);
    const own = parts.admin === undefined ? { crds } : {};
    const plane = await startControlPlane({ clock: parts.clock, random: () => random.next(), ...own });
    const cluster = new SimulatedCluster(parts, plane);
    cluster.#runPods();
    return cluster;
  }

  /** The API server and the namespace of the machine objects. */
  get objects(): { readonly client: KubeClient; readonly namespace: string } {
    const { admin: seed } = this.#parts;
    return seed === undefined ? { client: this.admin, namespace: 'default' } : { client: seed, namespace: this.name };
  }

  #runPods(): void {
    const { clock, reporter } = this.#parts;
    const informer = createInformer<Node>(this.admin, nodes, { clock, log: silentLogger, random: seededRandom(0) });
    const fail = (error: unknown): void => {
      if (!this.#end.signal.aborted && !isAlreadyExists(error)) reporter.violate(`${this.name}: ${String(error)}`);
    };
    informer.onChange(({ type, object: { metadata } }) => {
      if (type !== 'added') return;
      const { name } = metadata;
      const spec = { nodeName: name, containers: CONTAINERS, terminationGracePeriodSeconds: GRACE_SECONDS };
      void this.admin
        .resource<Pod>(pods, 'default')
        .create({ metadata: { name: `on-${name}`, namespace: 'default' }, spec })
        .catch(fail);
    });
    void informer.run(this.#end.signal).catch(fail);
  }

  cloud(): Transport {
    const transport = this.#cloud.transport();
    return async (request) => {
      await this.#verifyDeletion(request);
      const answer = await transport(request);
      for (const { id } of this.#cloud.cloud.instances.list()) this.#made.add(id);
      return answer;
    };
  }

  async #verifyDeletion({ method, path }: TransportRequest): Promise<void> {
    const id = method === 'DELETE' ? /^\/v1\/instances\/([^/?]+)/.exec(path)?.[1] : undefined;
    const vm = [...this.#cloud.cloud.instances.list()].find((one) => one.id === id);
    if (vm === undefined || vm.state !== 'running') return;
    this.verified += 1;
    const { reporter, clock } = this.#parts;
    const { client, namespace } = this.objects;
    const { items } = await client.resource<Machine>(machines, namespace).list();
    const machine = items.find(({ metadata }) => metadata.uid === vm.clientToken);
    if (machine !== undefined && machine.metadata.deletionTimestamp === undefined)
      reporter.violate(`${this.name}: mcm deletes VM ${vm.name}, but nothing requested the deletion of its machine`);
    const old = clock.now().getTime() - NEW_POD_MS;
    const left = (await this.admin.resource<Pod>(pods, 'default').list()).items.filter(
      (pod) =>
        pod.spec.nodeName === vm.name &&
        !hasEnded(pod) &&
        new Date(pod.metadata.creationTimestamp ?? 0).getTime() < old,
    );
    const names = left.map(({ metadata }) => metadata.name);
    if (left.length > 0)
      reporter.violate(`${this.name}: mcm deletes VM ${vm.name} while the pods ${names} still run on it`);
  }

  get made(): number {
    return this.#made.size;
  }

  silence(): void {
    const { cloud } = this.#cloud;
    for (const { id } of cloud.instances.list()) cloud.kubelets.order(id, { silent: true });
  }

  vms(): readonly string[] {
    return [...this.#cloud.cloud.instances.list()]
      .filter(({ state }) => state !== 'terminated')
      .map(({ name }) => name)
      .sort();
  }

  async close(): Promise<void> {
    this.#end.abort(new Error('closed'));
    await this.#parts.clock.ended(this.#cloud.cloud.close(), { maxMs: CLOSE_MS });
    await this.plane.close();
  }
}
