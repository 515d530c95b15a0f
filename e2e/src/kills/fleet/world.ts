import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Machine,
  type MachineClass,
  type MachineDeployment,
  machineClasses,
  machineDeployments,
  machines,
} from '@mcm/api';
import { Program } from '@mcm/cli';
import {
  createClient,
  createInformer,
  createLogger,
  type Draft,
  type Informer,
  type KubeClient,
  type KubeObject,
  type Lease,
  leases,
  loadKubeconfig,
  type Node,
  namespaces,
  nodes,
  realClock,
  seededRandom,
  type UndiciTransport,
  undiciTransport,
} from '@mcm/kube';
import { createCluster, hollowNode, LABEL, machineClass, newDeployment } from '../../bench/fleet-mode/objects.ts';
import { PlaneHost } from '../../bench/fleet-mode/planes.ts';
import { atOnce } from '../../bench/machines/at-once.ts';
import { createPersistently } from '../../bench/machines/persistently.ts';
import { type Bundled, bundled, LOCAL_PROGRAMS, resolverOf } from '../../harness/bundled.ts';
import { type CloudInstance, FleetRecord, type KnownMachine } from '../up/record.ts';
import { Takeovers } from './takeovers.ts';

const TOKEN = 'kills-token';
const PER_HOST = 100;
const PARALLEL = 8;
const HOME = 'fleet';
const DEPLOYMENT = 'workers';
const CLASSES = ['small', 'other'] as const;
const PROGRAMS = {
  'machine-controller-manager': '@mcm/machine-controller-manager/main',
  'machine-controller-local': '@mcm/provider-local/main',
} as const;
const CLUSTER_LEASES: readonly string[] = ['machine-controller-manager', 'machine-controller'];

export interface FleetSize {
  readonly shards: number;
  readonly planes: number;
  readonly machines: number;
  readonly limitMs: number;
}

const clusterName = (index: number): string => `c-${index}`;
const known = ({ metadata }: Machine): KnownMachine => ({
  uid: metadata.uid,
  name: metadata.name,
  isGoing: metadata.deletionTimestamp !== undefined,
});

/** A fleet with real programs: a seed, target clusters, a cloud, and shards. */
export class KilledFleet {
  readonly record = new FleetRecord();
  readonly takeovers: Takeovers;
  readonly #size: FleetSize;
  readonly #dir = mkdtempSync(join(tmpdir(), 'mcm fleet kills '));
  readonly #seed = new PlaneHost();
  readonly #hosts: PlaneHost[] = [];
  readonly #programs: Program[] = [];
  readonly #shards: (readonly Program[])[] = [];
  readonly #transports: UndiciTransport[] = [];
  readonly #targets = new Map<string, KubeClient>();
  readonly #joined = new Set<string>();
  readonly #stop = new AbortController();
  readonly #informers: Informer<KubeObject>[] = [];
  #bundles: Bundled | undefined;
  #client: KubeClient | undefined;
  #cloud: UndiciTransport | undefined;

  private constructor(size: FleetSize) {
    this.#size = size;
    this.takeovers = new Takeovers(size.limitMs);
  }

  static async start(size: FleetSize): Promise<KilledFleet> {
    const fleet = new KilledFleet(size);
    try {
      await fleet.#start();
    } catch (error) {
      await fleet.stop();
      throw error;
    }
    return fleet;
  }

  async #start(): Promise<void> {
    this.#bundles = await bundled(LOCAL_PROGRAMS);
    const file = join(this.#dir, 'seed');
    writeFileSync(file, (await this.#seed.ask({ do: 'seed' })).kubeconfigs?.[0] ?? '', { mode: 0o600 });
    this.#client = await this.#connect(file);
    await this.#admin.resource(namespaces).create({ metadata: { name: HOME } });
    const cloud = this.#program('local-cloud', '@mcm/provider-local/cloud/main', ['--memory', '--port=0'], {
      MCM_LOCAL_CLOUD_TOKEN: TOKEN,
    });
    const endpoint = await cloud.start();
    this.#cloud = undiciTransport({ server: endpoint, token: TOKEN });
    const kubeconfigs = await this.#startTargets();
    await atOnce(this.#size.planes, PARALLEL, (index) =>
      this.#createCluster(index, kubeconfigs[index] ?? '', endpoint),
    );
    await this.#observe();
    for (let shard = 0; shard < this.#size.shards; shard += 1) this.#shards.push(await this.#startShard(shard, file));
  }

  get #admin(): KubeClient {
    if (this.#client === undefined) throw new Error('the seed has not started');
    return this.#client;
  }

  async #connect(file: string): Promise<KubeClient> {
    const transport = undiciTransport(await loadKubeconfig(file));
    this.#transports.push(transport);
    return createClient({ transport, userAgent: 'mcm-kills', clock: realClock });
  }

  #program(name: string, module: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Program {
    const resolve = this.#bundles && resolverOf(this.#bundles);
    const logFile = join(this.#dir, `${name}.log`);
    const spec = { name, module: resolve?.(module) ?? module, args, env, logFile };
    const program = new Program(spec, { clock: realClock, onChange: () => undefined });
    this.#programs.push(program);
    return program;
  }

  async #startTargets(): Promise<readonly string[]> {
    const kubeconfigs: string[] = [];
    while (kubeconfigs.length < this.#size.planes) {
      const host = new PlaneHost();
      this.#hosts.push(host);
      const count = Math.min(PER_HOST, this.#size.planes - kubeconfigs.length);
      kubeconfigs.push(...((await host.ask({ do: 'targets', count, machines: 0 })).kubeconfigs ?? []));
    }
    return kubeconfigs;
  }

  async #createCluster(index: number, kubeconfig: string, endpoint: string): Promise<void> {
    const name = clusterName(index);
    const file = join(this.#dir, name);
    writeFileSync(file, kubeconfig, { mode: 0o600 });
    this.#targets.set(name, await this.#connect(file));
    await createCluster(this.#admin, { name, kubeconfig, machines: 0, endpoint, token: TOKEN });
    const [, other] = CLASSES;
    await this.#admin.resource<MachineClass>(machineClasses, name).create(machineClass(name, other));
    await this.#deployments(name).create(newDeployment(name, DEPLOYMENT, this.#size.machines));
  }

  #deployments(cluster: string) {
    return this.#admin.resource<MachineDeployment>(machineDeployments, cluster);
  }

  async #observe(): Promise<void> {
    const options = { clock: realClock, random: seededRandom(0), log: createLogger({ level: 'silent' }) };
    const leaseInformer = createInformer<Lease>(this.#admin, leases, options);
    leaseInformer.onChange(({ type, object: { metadata, spec } }) => {
      if (!CLUSTER_LEASES.includes(metadata.name) || type === 'deleted') return;
      this.takeovers.lease(`${metadata.namespace}/${metadata.name}`, spec?.holderIdentity ?? '', performance.now());
    });
    const machineInformer = createInformer<Machine>(this.#admin, machines, options);
    machineInformer.onChange(({ type, object }) => {
      if (type === 'deleted') this.record.machineGone(object.metadata.uid);
      else {
        this.record.machine(known(object));
        void this.#join(object);
      }
    });
    for (const informer of [leaseInformer, machineInformer] as readonly Informer<KubeObject>[]) {
      this.#informers.push(informer);
      void informer.run(this.#stop.signal);
    }
    await Promise.all(this.#informers.map((informer) => informer.whenSynced(this.#stop.signal)));
  }

  async #join({ metadata: { uid, name, namespace = '' }, spec: { providerID = '' } }: Machine): Promise<void> {
    const target = this.#targets.get(namespace);
    if (target === undefined || providerID === '' || this.#joined.has(uid)) return;
    this.#joined.add(uid);
    const { metadata, ...node } = hollowNode(0);
    const labels = { ...metadata.labels, node: name };
    const draft: Draft<Node> = { ...node, metadata: { name, labels }, spec: { providerID } };
    await createPersistently(() => target.resource<Node>(nodes).create(draft)).catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.record.violations.push(`cannot create Node ${name}: ${String(error)}`);
    });
  }

  async #startShard(shard: number, kubeconfig: string): Promise<readonly Program[]> {
    const flags = [
      `--control-kubeconfig=${kubeconfig}`,
      `--namespace=${HOME}`,
      `--fleet-namespaces=${LABEL}`,
      `--fleet-replica=${shard}`,
      '--port=0',
      '--log-level=warn',
    ];
    const programs = Object.entries(PROGRAMS).map(([name, module]) => this.#program(`${name}-${shard}`, module, flags));
    await Promise.all(programs.map((program) => program.start()));
    return programs;
  }

  async kill(shard: number): Promise<number> {
    const { items } = await this.#admin.resource<Lease>(leases, HOME).list();
    const own = items.filter(({ metadata }) => metadata.name.endsWith(`-fleet-${shard}`));
    for (const { pid } of this.#shards[shard] ?? []) if (pid !== undefined) process.kill(pid, 'SIGKILL');
    const identities = own.flatMap(({ spec }) => spec?.holderIdentity || []);
    return this.takeovers.kill(identities, performance.now());
  }

  async roll(index: number): Promise<void> {
    const resource = this.#deployments(clusterName(index));
    const { spec } = await resource.get(DEPLOYMENT);
    const name = spec.template.spec.class.name === CLASSES[0] ? CLASSES[1] : CLASSES[0];
    const body = { spec: { template: { spec: { class: { name } } } } };
    await resource.patch(DEPLOYMENT, { type: 'merge', body });
  }

  async unfinished(): Promise<number> {
    const { items } = await this.#admin.resource<MachineDeployment>(machineDeployments).list();
    const busy = items.filter(({ metadata, spec, status }) => {
      const wanted = spec.replicas ?? 0;
      const done =
        status?.observedGeneration === metadata.generation &&
        status?.updatedReplicas === wanted &&
        status.replicas === wanted &&
        status.availableReplicas === wanted;
      return !done;
    });
    const fleet = await this.#admin.resource<Machine>(machines).list();
    const extra = fleet.items.length === this.#size.planes * this.#size.machines ? 0 : 1;
    return Math.max(busy.length, this.takeovers.open, extra);
  }

  /** Checks the VMs in the cloud and the Leases. */
  async verify(): Promise<void> {
    this.takeovers.verify(performance.now());
    this.record.verify(await this.#instances(), Date.now() - 3_000);
  }

  async verifyRest(): Promise<void> {
    const fleet = await this.#admin.resource<Machine>(machines).list();
    this.record.verifyRest(await this.#instances(), fleet.items.map(known));
  }

  async #instances(): Promise<readonly CloudInstance[]> {
    const all: CloudInstance[] = [];
    for (const query of ['', '?state=terminated']) {
      const answer = await this.#cloud?.({ method: 'GET', path: `/v1/instances${query}`, headers: {} });
      if (answer?.status !== 200) throw new Error(`the cloud answered ${answer?.status}`);
      const { items }: { readonly items: readonly CloudInstance[] } = JSON.parse(await answer.text());
      all.push(...items);
    }
    return all;
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('stopped'));
    await Promise.all(this.#programs.map((program) => program.stop()));
    await Promise.all([...this.#transports, ...(this.#cloud ? [this.#cloud] : [])].map((one) => one.close()));
    for (const host of [this.#seed, ...this.#hosts]) host.stop();
    this.#bundles?.remove();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
