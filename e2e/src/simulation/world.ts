import {
  crds,
  Labels,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { buildMachineController, MACHINE_DEFAULTS } from '@mcm/core';
import {
  controllerOf,
  createClient,
  createInformer,
  createMemoryLogger,
  createRecorder,
  handlerTransport,
  type KubeClient,
  type MemoryLogger,
  type Node,
  nodes,
  type Random,
  secrets,
  seededRandom,
  type Transport,
  VirtualClock,
} from '@mcm/kube';
import { runManager } from '@mcm/machine-controller-manager';
import {
  createLocalCloud,
  createLocalDriver,
  type KubeletBehaviour,
  type LocalCloud,
  MemoryStore,
} from '@mcm/provider-local';
import { Network } from './network.ts';
import { type Death, Life } from './process.ts';
import { Witness } from './witness.ts';

export const NAMESPACE = 'default';
const DEPLOYMENT = 'workers';
const ENDPOINT = 'http://cloud.invalid';

/** The processes that a simulation can kill. */
export type ProcessName = 'manager' | 'machine-controller';

export interface WorldOptions {
  readonly seed?: number;
  /** When each process dies, once; it is started again `restartAfterMs` later. */
  readonly deaths?: Partial<Record<ProcessName, Death>>;
  readonly restartAfterMs?: number;
  /** Behaviour of all hollow kubelets. */
  readonly kubelets?: KubeletBehaviour;
  readonly maxSurge?: number;
  readonly maxUnavailable?: number;
  /** `--max-unhealthy-replacements` of both controllers. */
  readonly maxUnhealthyReplacements?: number;
  /** Annotations of the deployment. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Machines are updated where they are; instead of a rolling update. */
  readonly inPlace?: 'Auto' | 'Manual';
  /** Settings of every machine, such as `creationTimeout`. */
  readonly machine?: object;
  /** Wraps what a controller asks the API server, e.g. to ask as somebody else. */
  readonly wrap?: (name: ProcessName, transport: Transport) => Transport;
  /** Wraps what the machine controller asks the cloud. */
  readonly wrapCloud?: (transport: Transport) => Transport;
  /** Makes what must be there before the controllers start. */
  readonly furnish?: (admin: KubeClient) => Promise<void>;
  /** More data of the Secret of all classes, decoded. */
  readonly secretData?: Readonly<Record<string, string>>;
  /** More kinds. */
  readonly crds?: typeof crds;
  /** Where the API server listens, for processes; absent: nowhere. */
  readonly port?: number;
}

/** How often a wait looks at the whole world. */
const LOOK_EVERY_MS = 250;

const BY_NAME: Readonly<Record<ProcessName, string>> = {
  manager: 'machine-controller-manager',
  'machine-controller': 'machine-controller',
};

type Plane = Pick<ControlPlane, 'fetch' | 'close' | 'kubeconfig'>;

interface Running {
  readonly life: Life;
  readonly stop: AbortController;
}

/**
 * The whole system in one process on a virtual clock: the embedded control plane, the local cloud with hollow kubelets,
 * and both controllers, each of which can be killed between any two of its requests and started again.
 */
export class World {
  readonly clock: VirtualClock;
  readonly log: MemoryLogger = createMemoryLogger();
  readonly admin: KubeClient;
  readonly network: Network;
  readonly witness: Witness;
  /** Writes of the controllers that the server answered, as `verb resource name`. */
  readonly writes: string[] = [];
  /** Replicas of the sets, by UID. */
  readonly #sizes = new Map<string, number>();
  /** Classes of the sets' templates, by UID. */
  readonly #classes = new Map<string, string | undefined>();
  readonly #plane: Plane;
  readonly #options: WorldOptions;
  readonly #running = new Map<ProcessName, Running>();
  readonly #deathsLeft: Map<ProcessName, Death>;
  readonly #store = new MemoryStore();
  /** Sources that go on from one life of a process to the next: no two of them make the same ids. */
  readonly #random: Random;
  readonly #cloudRandom: Random;
  readonly #end = new AbortController();
  #cloud: LocalCloud;
  #cloudProcess = new AbortController();
  /** Ids of all VMs ever seen, by the UID of their machine. */
  readonly #made = new Map<string, Set<string>>();

  private constructor(options: WorldOptions, clock: VirtualClock, plane: Plane) {
    this.#options = options;
    this.clock = clock;
    this.#plane = plane;
    this.#deathsLeft = new Map(Object.entries(options.deaths ?? {}) as [ProcessName, Death][]);
    this.#cloudRandom = seededRandom((options.seed ?? 1) + 1);
    this.#random = seededRandom((options.seed ?? 1) + 2);
    this.witness = new Witness(clock, (uid) => this.#sizes.get(uid) ?? 0, options.maxUnhealthyReplacements);
    this.network = new Network({
      random: seededRandom((options.seed ?? 1) + 3),
      kill: (caller) => caller !== 'kubelets' && this.kill(caller),
      note: (text) => this.witness.note('act', text),
    });
    this.admin = createClient({ transport: handlerTransport(plane.fetch), userAgent: 'simulation', clock });
    this.#cloud = this.#startCloud();
  }

  /** What must never happen and did. */
  get violations(): readonly string[] {
    return this.witness.violations;
  }

  /** Of an API server that listens. */
  kubeconfig(): string {
    return this.#plane.kubeconfig();
  }

  /** A wire to the API server. */
  transport(): Transport {
    return handlerTransport(this.#plane.fetch);
  }

  get cloud(): LocalCloud {
    return this.#cloud;
  }

  #startCloud(): LocalCloud {
    const transport = this.network.wire('kubelets', handlerTransport(this.#plane.fetch));
    return createLocalCloud({
      clock: this.clock,
      random: this.#cloudRandom,
      log: this.log.with({ process: 'cloud' }),
      store: this.#store,
      kubelets: {
        connect: () => transport,
        nodeCluster: { server: 'https://127.0.0.1', transport, bare: transport },
        defaults: this.#options.kubelets ?? {},
      },
    });
  }

  /** The cloud's process ends, its connections break, and it comes back on what it had stored. One that is away stays so. */
  async restartCloud(downMs: number): Promise<void> {
    if (this.#cloudProcess.signal.aborted) return;
    this.#cloudProcess.abort(new Error('read ECONNRESET'));
    await this.#cloud.close();
    this.clock.setTimeout(() => {
      this.#cloud = this.#startCloud();
      this.#cloudProcess = new AbortController();
    }, downMs);
  }

  static async start(options: WorldOptions = {}): Promise<World> {
    const clock = new VirtualClock();
    const random = seededRandom(options.seed ?? 1);
    let world: World | undefined;
    const plane = await startControlPlane({
      clock,
      random: () => random.next(),
      crds: [...crds, ...(options.crds ?? [])],
      ...(options.port === undefined ? {} : { port: options.port }),
      requestLog: ({ verb, resource, subresource, name, userAgent, code }) => {
        const what = [resource, ...(subresource ? [subresource] : []), ...(name ? [name] : [])].join('/');
        world?.witness.note('request', `${userAgent.split('/')[0]} ${verb} ${what} ${code}`);
        if (
          !userAgent.startsWith('machine-controller') ||
          code >= 400 ||
          resource === 'leases' ||
          resource === 'events'
        )
          return;
        if (['create', 'update', 'patch', 'delete'].includes(verb)) world?.writes.push(`${verb} ${resource} ${name}`);
      },
    });
    world = new World(options, clock, plane);
    await world.#furnish();
    await options.furnish?.(world.admin);
    world.#watchMachines();
    world.startProcess('manager');
    world.startProcess('machine-controller');
    return world;
  }

  async #furnish(): Promise<void> {
    const data = {
      endpoint: ENDPOINT,
      userData: '{"bootstrapToken":"<<BOOTSTRAP_TOKEN>>","nodeName":"<<MACHINE_NAME>>"}',
      ...this.#options.secretData,
    };
    await this.admin.resource(secrets, NAMESPACE).create({
      metadata: { name: 'cloud', namespace: NAMESPACE },
      data: Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
      ),
    });
    for (const name of ['blue', 'green']) {
      await this.admin.resource(machineClasses, NAMESPACE).create({
        metadata: { name, namespace: NAMESPACE },
        provider: 'local',
        secretRef: { name: 'cloud', namespace: NAMESPACE },
        providerSpec: {
          image: 'hollow:v1',
          zone: 'local-a',
          tags: { 'kubernetes.io/cluster/simulation': '1', 'kubernetes.io/role/node': '1' },
        },
      });
    }
  }

  #watchMachines(): void {
    const { clock, log } = this;
    const options = { clock, log, random: seededRandom(0) };
    const sets = createInformer<MachineSet>(this.admin, machineSets, options);
    sets.onChange(({ object: { metadata, spec } }) => {
      this.#sizes.set(metadata.uid, spec.replicas ?? 0);
      this.#classes.set(metadata.uid, spec.template.spec.class.name);
    });
    const informer = createInformer<Machine>(this.admin, machines, options);
    informer.onChange(this.witness.onChange);
    const byHand = this.#options.inPlace === 'Manual';
    const nodeInformer = createInformer<Node>(this.admin, nodes, options);
    nodeInformer.onChange(({ type, object: { metadata } }) => {
      const on = type !== 'deleted' && metadata.labels?.[Labels.SelectedForUpdate] !== undefined;
      this.witness.selects(metadata.name, on, byHand);
    });
    for (const one of [sets, informer, nodeInformer]) {
      void one.run(this.#end.signal).catch((error: unknown) => this.witness.violate(String(error)));
    }
  }

  /** Ends a process as SIGKILL does; it is started again. */
  kill(name: ProcessName): void {
    this.witness.note('act', `${name} is killed`);
    this.#running.get(name)?.life.kill();
  }

  /** Starts a process anew; it knows nothing but what the API and the cloud tell it. */
  startProcess(name: ProcessName): void {
    const stop = new AbortController();
    const death = this.#deathsLeft.get(name);
    this.#deathsLeft.delete(name);
    const life = new Life(death, () => {
      stop.abort(new Error('killed'));
      this.clock.setTimeout(() => this.startProcess(name), this.#options.restartAfterMs ?? 1_000);
    });
    this.#running.set(name, { life, stop });
    const { clock } = this;
    const log = this.log.with({ process: name });
    const random = this.#random;
    const { wrap = (_, transport) => transport, wrapCloud = (transport) => transport } = this.#options;
    const client = createClient({
      transport: wrap(name, life.wrap(this.network.wire(name, handlerTransport(this.#plane.fetch)))),
      userAgent: BY_NAME[name],
      clock,
      random,
    });
    const runtime = { clock, random, log, freeze: true };
    const { maxUnhealthyReplacements = MACHINE_DEFAULTS.maxUnhealthyReplacements } = this.#options;
    if (name === 'manager') {
      const surroundings = { control: client, target: client, namespace: NAMESPACE, runtime };
      const { ended } = runManager(surroundings, { maxUnhealthyReplacements }, stop.signal);
      void ended.catch((error: unknown) => this.#ended(name, stop, error));
      return;
    }
    const controller = buildMachineController({
      driver: createLocalDriver({
        clock,
        connect: () => wrapCloud(life.wrap(this.network.cloudWire(name, this.#cloudTransport()))),
      }),
      control: client,
      target: client,
      namespace: NAMESPACE,
      defaults: { ...MACHINE_DEFAULTS, maxUnhealthyReplacements },
      clock,
      random,
      secretRandom: random,
      log,
      recorder: createRecorder({ client, component: 'machine-controller', clock, log }),
      runtime,
    });
    void controller.run(stop.signal).catch((error: unknown) => this.#ended(name, stop, error));
  }

  #ended(name: ProcessName, stop: AbortController, error: unknown): void {
    if (!stop.signal.aborted) this.witness.violate(`${name} ended by itself: ${String(error)}`);
  }

  /** Every answer of the cloud is a moment to check that no machine has two VMs. */
  #cloudTransport(): Transport {
    return async (request) => {
      const { signal } = this.#cloudProcess;
      if (signal.aborted) throw new Error('connect ECONNREFUSED');
      const transport = handlerTransport(async (sent) => this.#cloud.fetch(sent));
      const both = request.signal ? AbortSignal.any([request.signal, signal]) : signal;
      const answer = await transport({ ...request, signal: both });
      this.witness.note('request', `cloud ${request.method} ${request.path.split('?')[0]} ${answer.status}`);
      this.#countVms();
      return answer;
    };
  }

  #countVms(): void {
    const living = new Map<string, string>();
    for (const { id, clientToken = '', name, state } of this.#cloud.instances.list()) {
      this.#made.set(clientToken, (this.#made.get(clientToken) ?? new Set()).add(id));
      if (state === 'terminated') continue;
      const other = living.get(clientToken);
      if (other !== undefined) this.witness.violate(`two VMs for ${name}: ${other} and ${id}`);
      living.set(clientToken, id);
    }
  }

  /** Number of VMs ever made. */
  get vmsMade(): number {
    return [...this.#made.values()].reduce((sum, ids) => sum + ids.size, 0);
  }

  /** Names of the VMs that the cloud has, terminated ones left out. */
  vms(): string[] {
    return [...this.cloud.instances.list()]
      .filter((instance) => instance.state !== 'terminated')
      .map((instance) => instance.name)
      .sort();
  }

  async machines(): Promise<Machine[]> {
    return (await this.admin.resource<Machine>(machines, NAMESPACE).list()).items;
  }

  async nodeNames(): Promise<string[]> {
    return (await this.admin.resource(nodes).list()).items.map((node) => node.metadata.name).sort();
  }

  async createDeployment(replicas: number): Promise<void> {
    const { machine = {}, annotations = {} } = this.#options;
    this.#wish(replicas);
    await this.admin.resource<MachineDeployment>(machineDeployments, NAMESPACE).create({
      metadata: { name: DEPLOYMENT, namespace: NAMESPACE, annotations: { ...annotations } },
      spec: {
        replicas,
        selector: { matchLabels: { name: DEPLOYMENT } },
        strategy: this.#strategy(),
        template: {
          metadata: { labels: { name: DEPLOYMENT } },
          spec: { ...machine, class: { kind: 'MachineClass', name: 'blue' } },
        },
      },
    });
  }

  #strategy(): NonNullable<MachineDeployment['spec']['strategy']> {
    const { maxSurge = 1, maxUnavailable = 0, inPlace } = this.#options;
    const limits = { maxSurge, maxUnavailable };
    if (inPlace === undefined) return { type: 'RollingUpdate', rollingUpdate: limits };
    return { type: 'InPlaceUpdate', inPlaceUpdate: { orchestrationType: inPlace, ...limits } };
  }

  #wish(replicas: number): void {
    const { maxSurge = 1, maxUnavailable = 0 } = this.#options;
    this.witness.wishes({ replicas, maxSurge, maxUnavailable });
  }

  async deployment(): Promise<MachineDeployment> {
    return this.admin.resource<MachineDeployment>(machineDeployments, NAMESPACE).get(DEPLOYMENT);
  }

  async annotate(annotations: Readonly<Record<string, string | null>>): Promise<void> {
    await this.admin
      .resource<MachineDeployment>(machineDeployments, NAMESPACE)
      .patch(DEPLOYMENT, { type: 'merge', body: { metadata: { annotations } } });
  }

  async deleteDeployment(): Promise<void> {
    this.#wish(0);
    this.witness.note('act', 'the user deletes the deployment');
    await this.admin.resource<MachineDeployment>(machineDeployments, NAMESPACE).delete(DEPLOYMENT);
  }

  async change(spec: {
    readonly replicas?: number;
    readonly paused?: boolean;
    readonly template?: object;
  }): Promise<void> {
    if (spec.replicas !== undefined) this.#wish(spec.replicas);
    this.witness.note('act', `the user asks for ${JSON.stringify(spec)}`);
    await this.admin
      .resource<MachineDeployment>(machineDeployments, NAMESPACE)
      .patch(DEPLOYMENT, { type: 'merge', body: { spec } });
  }

  /** A machine that no set owns. */
  async createMachine(name: string, settings: object = {}): Promise<void> {
    this.witness.allows(name);
    await this.admin.resource<Machine>(machines, NAMESPACE).create({
      metadata: { name, namespace: NAMESPACE },
      spec: { ...settings, class: { kind: 'MachineClass', name: 'blue' } },
    });
  }

  /** Somebody who knows more marks the machine as Failed. */
  async failMachine(name: string): Promise<void> {
    this.witness.note('act', `${name} is marked as Failed`);
    const lastUpdateTime = this.clock.now().toISOString();
    const currentStatus = { phase: 'Failed', lastUpdateTime };
    const lastOperation = { type: 'HealthCheck', state: 'Failed', description: 'Marked by hand', lastUpdateTime };
    await this.admin
      .resource<Machine>(machines, NAMESPACE)
      .patch(name, { type: 'merge', body: { status: { currentStatus, lastOperation } } }, { subresource: 'status' });
  }

  async deleteMachine(name: string): Promise<void> {
    const resource = this.admin.resource<Machine>(machines, NAMESPACE);
    this.witness.note('act', `the user deletes ${name}`);
    this.witness.deletesByHand((await resource.get(name)).metadata.uid);
    await resource.delete(name);
  }

  /** Looks at the world now and then, and no more than an hour of its time. */
  async until(done: () => Promise<boolean>, maxMs = 3_600_000): Promise<number> {
    let nextLook = 0;
    let due = false;
    const look = async (): Promise<boolean> => {
      const now = this.clock.now().getTime();
      if (now >= nextLook) {
        nextLook = now + LOOK_EVERY_MS;
        return done();
      }
      // What has just changed is looked at even if nothing else happens.
      if (!due) {
        due = true;
        this.clock.setTimeout(() => {
          due = false;
        }, nextLook - now);
      }
      return false;
    };
    return this.clock.runUntil(look, { maxMs });
  }

  /** Whether the fleet is as wished and nothing else is left anywhere. */
  async isSettled(replicas: number, machineClass: string): Promise<boolean> {
    return (await this.#mismatch(replicas, machineClass)) === undefined;
  }

  /** Runs until the fleet has `replicas` machines of a class, all Running, and nothing else is left anywhere. */
  async untilSettled(replicas: number, machineClass: string, maxMs = 3_600_000): Promise<number> {
    try {
      return await this.until(() => this.isSettled(replicas, machineClass), maxMs);
    } catch (error) {
      throw new Error(`${await this.#mismatch(replicas, machineClass)}\n${this.describe()}`, { cause: error });
    }
  }

  /** Of a machine; of its set where machines are updated in place, for there they keep the name of the class that made them. */
  #classOf(machine: Machine): string | undefined {
    const owner = this.#options.inPlace && controllerOf(machine);
    return owner ? this.#classes.get(owner.uid) : machine.spec.class?.name;
  }

  async #mismatch(replicas: number, machineClass: string): Promise<string | undefined> {
    const all = await this.machines();
    const names = all.map((machine) => machine.metadata.name).sort();
    if (all.length !== replicas) return `${all.length} machines, not ${replicas}`;
    const other = all.find(
      (machine) => machine.status?.currentStatus?.phase !== 'Running' || this.#classOf(machine) !== machineClass,
    );
    if (other)
      return `${other.metadata.name} is ${other.status?.currentStatus?.phase ?? 'new'} of class ${this.#classOf(other)}`;
    if (String(this.vms()) !== String(names)) return `VMs ${this.vms()} are not the machines ${names}`;
    const nodeNames = await this.nodeNames();
    if (String(nodeNames) !== String(names)) return `nodes ${nodeNames} are not the machines ${names}`;
    const tokens = (await this.admin.resource(secrets, 'kube-system').list()).items.filter(
      (secret) => secret.type === 'bootstrap.kubernetes.io/token',
    );
    return tokens.length > 0 ? `bootstrap tokens left: ${tokens.map((secret) => secret.metadata.name)}` : undefined;
  }

  /** The last log lines, for a failure's message. */
  describe(): string {
    return this.log.lines
      .slice(-25)
      .map((line) => JSON.stringify(line))
      .join('\n');
  }

  /** Requests that a process has sent in its present life. */
  requests(name: ProcessName): number {
    return this.#running.get(name)?.life.requests ?? 0;
  }

  async close(): Promise<void> {
    this.#end.abort(new Error('closed'));
    for (const { stop } of this.#running.values()) stop.abort(new Error('closed'));
    await this.cloud.close();
    await this.#plane.close();
  }
}
