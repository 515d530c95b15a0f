import { crds, type Machine, type MachineDeployment, machineClasses, machineDeployments, machines } from '@mcm/api';
import type { KillPoint } from '@mcm/conformance/fleet';
import { Reporter } from '@mcm/conformance/fleet';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import {
  type ConfigMap,
  configMaps,
  createClient,
  createMemoryLogger,
  ignoreNotFound,
  type KubeClient,
  leases,
  type MemoryLogger,
  namespaces,
  nodes,
  secrets,
  seededRandom,
  type Transport,
  VirtualClock,
} from '@mcm/kube';
import { BOUNDS } from '../record/bounds.ts';
import { maxCallsOf } from '../record/step-limit.ts';
import { SimulatedCluster } from './cluster.ts';
import { Fences } from './fences.ts';
import { FleetSource, SOURCE_CRDS, type SourceName } from './fleet-source.ts';
import { type FleetDefect, PROGRAMS, Program, type ProgramName, type ReplicaParts } from './replica.ts';
import { BUDGET, RolloutVerifier, type SimulatedBudget } from './rollout-verifier.ts';
import { ServedVerifier } from './served-verifier.ts';
import { SinglePod } from './single-pod.ts';
import { cloudTokenOf, kubeconfigOf, SEED, Wires } from './wires.ts';

const DEPLOYMENT = 'workers';
/** The interval at which Cluster API looks for machines of a deleted Cluster. */
const RELEASE_MS = 5_000;
const CANARY = 'c1';
const CLOUD_DOMAIN = '.cloud.invalid';
const homeOf = (fleet: number): string => (fleet === 0 ? 'fleet' : `fleet-${fleet}`);
const WRONG = 'wrong-';
const realName = (server: string): string => (server.startsWith(WRONG) ? server.slice(WRONG.length) : server);

export interface FleetWorldOptions {
  readonly seed: number;
  readonly clusters: number;
  readonly replicas: number;
  readonly skewMs: readonly number[];
  readonly killPoint: () => KillPoint | undefined;
  readonly restartMs: () => number;
  readonly defect: FleetDefect;
  readonly healthTimeout?: string;
  readonly budget?: SimulatedBudget | undefined;
  readonly quietLeaseMs?: number | undefined;
  readonly hibernateMs?: number | undefined;
  /** How the fleet finds its clusters. By default, each cluster has a labelled namespace. */
  readonly source?: SourceName | undefined;
  /** The number of fleets that serve the clusters independently. By default, all replicas belong to one fleet. */
  readonly fleets?: number | undefined;
}

interface Wish {
  replicas: number;
  machineClass: string;
}

/** A seed, its target clusters with their clouds, and the replicas of a fleet. */
export class FleetWorld {
  readonly clock: VirtualClock;
  readonly reporter: Reporter;
  readonly wires: Wires;
  readonly fences: Fences;
  readonly served: ServedVerifier;
  readonly log: MemoryLogger = createMemoryLogger();
  readonly seedAdmin: KubeClient;
  readonly programs: readonly Program[];
  readonly wishes = new Map<string, Wish>();
  readonly misled = new Set<string>();
  readonly slowed = new Set<string>();
  readonly deleted = new Set<string>();
  readonly separate = new Set<string>();
  readonly handedOver = new Map<string, number>();
  /**
   * Without a seed, two clusters compete for one Lease: a cluster with a wrong kubeconfig, and the cluster in this
   * kubeconfig.
   */
  readonly #contended = new Map<string, string>();
  readonly rollouts: RolloutVerifier | undefined;
  readonly source: FleetSource;
  readonly #seedPlane: ControlPlane;
  readonly #clusters: ReadonlyMap<string, SimulatedCluster>;
  readonly #end = new AbortController();
  readonly #healthTimeout: string;
  readonly #parts: ReplicaParts;

  private constructor(
    options: FleetWorldOptions,
    clock: VirtualClock,
    plane: ControlPlane,
    clusters: ReadonlyMap<string, SimulatedCluster>,
    reporter: Reporter,
  ) {
    this.clock = clock;
    this.#healthTimeout = options.healthTimeout ?? '2h';
    this.#seedPlane = plane;
    this.#clusters = clusters;
    this.reporter = reporter;
    this.fences = new Fences(reporter);
    this.wires = new Wires(clock);
    this.seedAdmin = createClient({ transport: plane.transport, userAgent: 'simulation', clock });
    this.source = new FleetSource(options.source ?? 'namespaces', this.seedAdmin, homeOf(0));
    this.served = new ServedVerifier({
      clock,
      leaseMs: (options.quietLeaseMs ?? 0) + (options.source === 'profiles' ? BOUNDS.fleetUnwatched.ms : 0),
      reporter,
      clusters: () => [...clusters.keys()].filter((name) => !this.deleted.has(name)),
      serves: (name, cluster) =>
        this.programs.some(
          (one) => one.name === name && one.runs && (one.serves(cluster) || this.#mayHibernate(one, cluster)),
        ),
      holds: (name, cluster) => this.programs.some((one) => one.name === name && one.runs && one.serves(cluster)),
      hindered: (name, cluster) => this.#hindered(name, cluster),
      handedOver: () => [...this.handedOver].filter(([name]) => !this.deleted.has(name)),
      describe: () => this.describe(),
    });
    const { seed, replicas, skewMs, killPoint, restartMs, defect, budget } = options;
    this.rollouts =
      budget && new RolloutVerifier({ budget, reporter, admin: this.seedAdmin, isCanary: (name) => name === CANARY });
    const parts: ReplicaParts = {
      clock,
      random: seededRandom(seed + 2),
      log: this.log,
      reporter,
      fences: this.fences,
      wires: this.wires,
      defect,
      quietLeaseMs: options.quietLeaseMs,
      hibernateMs: options.hibernateMs,
      sourceFlag: this.source.flag,
      homeOf: (replica) => homeOf(Number(replica) % (options.fleets ?? 1)),
      rollouts: this.rollouts,
      server: (name: string) => this.#server(name),
      writesTo: (name: string) => (this.source.name === 'profiles' ? realName(name) : name),
      cloud: (endpoint: string) => this.#cloud(endpoint),
      changed: () => this.served.processesChanged(),
      killPoint,
      restartMs,
    };
    this.#parts = parts;
    this.programs = Array.from({ length: replicas }, (_, replica) =>
      PROGRAMS.map((name) => new Program(name, String(replica), skewMs[replica] ?? 0, parts)),
    ).flat();
  }

  static async start(options: FleetWorldOptions): Promise<FleetWorld> {
    const clock = new VirtualClock({ maxCalls: maxCallsOf(options.clusters) });
    const reporter = new Reporter(clock);
    const random = seededRandom(options.seed);
    const { source } = options;
    const kinds = source === undefined ? crds : [...crds, ...SOURCE_CRDS];
    const plane = await startControlPlane({ clock, random: () => random.next(), crds: kinds });
    const admin = createClient({ transport: plane.transport, userAgent: 'simulation', clock });
    const own = source === 'profiles' ? undefined : admin;
    const clusters = new Map<string, SimulatedCluster>();
    for (let index = 1; index <= options.clusters; index += 1) {
      const name = `c${index}`;
      const seed = options.seed * 1_000 + index;
      clusters.set(name, await SimulatedCluster.start({ name, clock, seed, reporter, admin: own }));
    }
    const world = new FleetWorld(options, clock, plane, clusters, reporter);
    for (let fleet = 0; fleet < (options.fleets ?? 1); fleet += 1)
      await admin.resource(namespaces).create({ metadata: { name: homeOf(fleet) } });
    const { budget } = options;
    if (budget !== undefined)
      await admin.resource<ConfigMap>(configMaps, 'fleet').create({
        metadata: { name: BUDGET },
        data: { maxClusters: String(budget.maxClusters), canaries: 'canary=yes', soak: budget.soak },
      });
    for (const name of clusters.keys()) await world.#furnish(name);
    for (const program of world.programs) program.start();
    world.served.watch(world.#end.signal);
    return world;
  }

  #mayHibernate(program: Program, cluster: string): boolean {
    return program.hibernates(cluster) && this.wishes.get(cluster)?.replicas === 0;
  }

  get clusters(): readonly string[] {
    return [...this.#clusters.keys()];
  }

  async #furnish(cluster: string): Promise<void> {
    await this.source.furnish(cluster, { fleet: 'yes', canary: cluster === CANARY ? 'yes' : 'no' });
    const { client: admin, namespace } = this.#objects(cluster);
    await admin.resource(secrets, namespace).create({
      metadata: { name: 'cloud' },
      stringData: {
        endpoint: `http://${cluster}${CLOUD_DOMAIN}`,
        token: cloudTokenOf(cluster),
        userData: '{"bootstrapToken":"<<BOOTSTRAP_TOKEN>>","nodeName":"<<MACHINE_NAME>>"}',
      },
    });
    for (const name of ['blue', 'green'])
      await admin.resource(machineClasses, namespace).create({
        metadata: { name, namespace },
        provider: 'local',
        secretRef: { name: 'cloud', namespace },
        providerSpec: {
          image: 'hollow:v1',
          zone: 'local-a',
          tags: { [`kubernetes.io/cluster/${cluster}`]: '1', 'kubernetes.io/role/node': '1' },
        },
      });
    const ofMachines = { name: DEPLOYMENT };
    this.wishes.set(cluster, { replicas: 1, machineClass: 'blue' });
    await admin.resource<MachineDeployment>(machineDeployments, namespace).create({
      metadata: { name: DEPLOYMENT, namespace },
      spec: {
        replicas: 1,
        selector: { matchLabels: ofMachines },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
        template: {
          metadata: { labels: ofMachines },
          spec: {
            creationTimeout: '2h',
            healthTimeout: this.#healthTimeout,
            class: { kind: 'MachineClass', name: 'blue' },
          },
        },
      },
    });
  }

  /** Compacts the history of a server. */
  compact(server: string): void {
    this.reporter.note('act', `the API server of ${server} compacts its history`);
    (server === SEED ? this.#seedPlane : this.#clusters.get(server)?.plane)?.compact();
  }

  #server(name: string): Transport {
    if (name === SEED) {
      const seen = this.fences.sees(this.#seedPlane.transport);
      return this.rollouts?.sees(seen) ?? seen;
    }
    const cluster = this.#clusters.get(realName(name));
    if (cluster === undefined) throw new Error(`no server ${name}`);
    const { transport } = cluster.plane;
    return this.source.name === 'profiles' ? this.fences.sees(transport, cluster.name) : transport;
  }

  #cloud(endpoint: string): { readonly cluster: string; readonly transport: Transport } {
    const name = new URL(endpoint).hostname.replace(CLOUD_DOMAIN, '');
    const cluster = this.#clusters.get(name);
    if (cluster === undefined) throw new Error(`no cloud ${endpoint}`);
    return { cluster: name, transport: cluster.cloud() };
  }

  #hindered(name: ProgramName, cluster: string): boolean {
    if (this.misled.has(cluster) || this.slowed.has(cluster) || this.separate.has(cluster)) return true;
    if (this.handedOver.has(cluster) || [...this.#contended.values()].includes(cluster)) return true;
    return !this.programs.some(
      (one) =>
        one.name === name &&
        one.runs &&
        !this.wires.isCut(one.process, SEED) &&
        !this.wires.isCut(one.process, cluster),
    );
  }

  async change(cluster: string, wish: Partial<Wish>): Promise<void> {
    const wanted = this.wishes.get(cluster);
    if (wanted === undefined) return;
    Object.assign(wanted, wish);
    // To serve a hibernated cluster again, a replica needs as much time as for a start.
    if (this.#parts.hibernateMs !== undefined) this.served.processesChanged();
    this.reporter.note('act', `the user of cluster ${cluster} requests ${JSON.stringify(wanted)}`);
    const template = { spec: { class: { kind: 'MachineClass', name: wanted.machineClass } } };
    const { client, namespace } = this.#objects(cluster);
    await client
      .resource<MachineDeployment>(machineDeployments, namespace)
      .patch(DEPLOYMENT, { type: 'merge', body: { spec: { replicas: wanted.replicas, template } } });
  }

  machines(cluster: string): Promise<readonly Machine[]> {
    const { client, namespace } = this.#objects(cluster);
    return client
      .resource<Machine>(machines, namespace)
      .list()
      .then(({ items }) => items);
  }

  single(name: ProgramName, cluster: string): SinglePod {
    return new SinglePod(name, cluster, this.#parts);
  }

  async join(cluster: string, joins: boolean): Promise<void> {
    this.reporter.note('act', `${cluster} ${joins ? 'joins' : 'leaves'} the fleet`);
    await this.source.join(cluster, joins);
  }

  async deleteMachine(cluster: string, name: string): Promise<void> {
    this.reporter.note('act', `the user deletes ${name} of cluster ${cluster}`);
    await this.seedAdmin.resource<Machine>(machines, cluster).delete(name);
  }

  async deleteNamespace(cluster: string): Promise<void> {
    this.reporter.note('act', `the user deletes the namespace ${cluster}`);
    this.deleted.add(cluster);
    await this.seedAdmin.resource(namespaces).delete(cluster);
    if (this.source.name === 'clusters') this.#releaseCluster(cluster);
  }

  /**
   * Ends the deletion of a Cluster after its last machine is deleted and the fleet has released the Secret. Until then,
   * the Cluster must exist, because a restarted replica finds the Secret only through the Cluster.
   */
  #releaseCluster(cluster: string): void {
    this.clock.setTimeout(() => {
      if (this.#end.signal.aborted) return;
      void Promise.all([this.machines(cluster), this.source.isKept(cluster)])
        .then(([left, isKept]) =>
          left.length === 0 && !isKept ? this.source.release(cluster) : this.#releaseCluster(cluster),
        )
        .catch((error: unknown) => this.reporter.violate(String(error)));
    }, RELEASE_MS);
  }

  #objects(cluster: string): { readonly client: KubeClient; readonly namespace: string } {
    return this.#clusters.get(cluster)?.objects ?? { client: this.seedAdmin, namespace: cluster };
  }

  /** Changes the kubeconfig of a cluster so that it leads to another cluster, or to the cluster itself again. */
  async mislead(cluster: string, other: string | undefined): Promise<void> {
    this.reporter.note('act', `the kubeconfig of cluster ${cluster} points to cluster ${other ?? cluster}`);
    if (other === undefined) this.misled.delete(cluster);
    else this.misled.add(cluster);
    if (other === undefined) this.#contended.delete(cluster);
    else if (this.source.name === 'profiles') this.#contended.set(cluster, other);
    this.served.connectionsChanged();
    // The old token must become invalid. Otherwise, a replica that misses the change of the kubeconfig would still
    // work.
    if (other === undefined && this.source.name !== 'namespaces') this.wires.rotate(cluster);
    const kubeconfig =
      other === undefined ? kubeconfigOf(cluster, this.wires.tokenOf(cluster)) : kubeconfigOf(`${WRONG}${other}`);
    await this.changeKubeconfig(cluster, kubeconfig);
  }

  async changeKubeconfig(cluster: string, kubeconfig: string): Promise<void> {
    await this.source.changeKubeconfig(cluster, kubeconfig);
  }

  /**
   * Notes that the fleet must not serve a cluster, or that the fleet must serve the cluster again.
   */
  leaves(cluster: string, left: boolean): void {
    if (left) this.handedOver.set(cluster, this.clock.monotonic());
    else this.handedOver.delete(cluster);
    this.served.connectionsChanged();
  }

  async handOver(cluster: string, marked: boolean): Promise<void> {
    this.reporter.note(
      'act',
      `the user ${marked ? 'sets' : 'removes'} the annotation mcm-fleet-handed-over of namespace ${cluster}`,
    );
    this.leaves(cluster, marked);
    const body = { metadata: { annotations: { 'mcm-fleet-handed-over': marked ? 'by the user' : null } } };
    await this.seedAdmin.resource(namespaces).patch(cluster, { type: 'merge', body });
  }

  /** Writes annotations of a replica's peer Lease, as `mcm fleet` does. */
  async annotatePeer(replica: string, annotations: Readonly<Record<string, string | null>>): Promise<void> {
    this.reporter.note('act', `the user annotates replica ${replica} with ${JSON.stringify(annotations)}`);
    this.served.processesChanged();
    for (const { name } of this.programs.filter((one) => one.replica === replica)) {
      const lease = `${name === 'machine-controller' ? 'machine-controller-local' : name}-fleet-${replica}`;
      const all = this.seedAdmin.resource(leases, this.#parts.homeOf(replica));
      if ((await all.list()).items.every(({ metadata }) => metadata.name !== lease)) continue;
      await all.patch(lease, { type: 'merge', body: { metadata: { annotations } } });
    }
  }

  async mismatch(): Promise<string | undefined> {
    for (const [name, cluster] of this.#clusters) {
      const problem = this.deleted.has(name) ? await this.#leftover(name) : await this.#lacks(name, cluster);
      if (problem !== undefined) return `${name}: ${problem}`;
    }
    return undefined;
  }

  async #lacks(name: string, cluster: SimulatedCluster): Promise<string | undefined> {
    const wish = this.wishes.get(name);
    const all = await this.machines(name);
    if (all.length !== wish?.replicas) return `${all.length} machines, not ${wish?.replicas}`;
    const other = all.find(
      ({ status, spec }) => status?.currentStatus?.phase !== 'Running' || spec.class.name !== wish.machineClass,
    );
    if (other !== undefined) return `${other.metadata.name} is ${other.status?.currentStatus?.phase}`;
    const names = all.map(({ metadata }) => metadata.name).sort();
    if (String(names) !== String(cluster.vms()))
      return `the cluster has the VMs ${cluster.vms()}, but the machines ${names}`;
    const known = (await cluster.admin.resource(nodes).list()).items.map(({ metadata }) => metadata.name).sort();
    return String(names) === String(known)
      ? undefined
      : `the cluster has the nodes ${known}, but the machines ${names}`;
  }

  /**
   * Returns what remains of a deleted namespace. The namespace itself also remains while a Lease or Secret has a
   * finalizer.
   */
  async #leftover(name: string): Promise<string | undefined> {
    const left = await this.machines(name);
    const vms = this.#clusters.get(name)?.vms() ?? [];
    if (left.length + vms.length > 0)
      return `VMs ${vms} and machines ${left.map(({ metadata }) => metadata.name)} of the deleted namespace remain`;
    const namespace = await ignoreNotFound(this.seedAdmin.resource(namespaces).get(name));
    return namespace && `the deleted namespace still exists: ${JSON.stringify(namespace)}`;
  }

  silence(cluster: string): void {
    this.#clusters.get(cluster)?.silence();
  }

  get drained(): number {
    return [...this.#clusters.values()].reduce((sum, { verified }) => sum + verified, 0);
  }

  everMade(): number {
    return [...this.#clusters.values()].reduce((sum, { made }) => sum + made, 0);
  }

  describe(): string {
    return this.programs.map((one) => `${one.identity} ${one.runs} ${one.status()}`).join('\n');
  }

  async close(): Promise<void> {
    this.#end.abort(new Error('closed'));
    await Promise.all(this.programs.map((program) => program.close()));
    for (const cluster of this.#clusters.values()) await cluster.close();
    await this.#seedPlane.close();
  }
}
