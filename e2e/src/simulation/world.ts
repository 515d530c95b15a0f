import { crds, type Machine, type MachineDeployment, machineClasses, machineDeployments, machines } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { buildMachineController } from '@mcm/core';
import {
  createClient,
  createMemoryLogger,
  createRecorder,
  handlerTransport,
  type KubeClient,
  type MemoryLogger,
  nodes,
  secrets,
  seededRandom,
  type Transport,
  VirtualClock,
} from '@mcm/kube';
import { runManager } from '@mcm/machine-controller-manager';
import { createLocalCloud, createLocalDriver, type LocalCloud } from '@mcm/provider-local';
import { type Death, Life } from './process.ts';

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
  /** Stands between the controllers and the API server. */
  readonly between?: (transport: Transport, clock: VirtualClock) => Transport;
}

type Plane = Pick<ControlPlane, 'fetch' | 'close'>;

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
  readonly cloud: LocalCloud;
  /** Writes of the controllers that the server answered, as `verb resource name`. */
  readonly writes: string[] = [];
  /** What must never happen and did. */
  readonly violations: string[] = [];
  readonly #plane: Plane;
  readonly #options: WorldOptions;
  readonly #running = new Map<ProcessName, Running>();
  readonly #deathsLeft: Map<ProcessName, Death>;

  private constructor(options: WorldOptions, clock: VirtualClock, plane: Plane) {
    this.#options = options;
    this.clock = clock;
    this.#plane = plane;
    this.#deathsLeft = new Map(Object.entries(options.deaths ?? {}) as [ProcessName, Death][]);
    const direct = handlerTransport(plane.fetch);
    this.admin = createClient({ transport: direct, userAgent: 'simulation', clock });
    this.cloud = createLocalCloud({
      clock,
      random: seededRandom((options.seed ?? 1) + 1),
      log: this.log,
      kubelets: {
        connect: () => direct,
        nodeCluster: { server: 'https://127.0.0.1', transport: direct, bare: direct },
        defaults: {},
      },
    });
  }

  static async start(options: WorldOptions = {}): Promise<World> {
    const clock = new VirtualClock();
    const random = seededRandom(options.seed ?? 1);
    let world: World | undefined;
    const plane = await startControlPlane({
      clock,
      random: () => random.next(),
      crds,
      requestLog: ({ verb, resource, name, userAgent, code }) => {
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
    world.startProcess('manager');
    world.startProcess('machine-controller');
    return world;
  }

  async #furnish(): Promise<void> {
    const data = {
      endpoint: ENDPOINT,
      userData: '{"bootstrapToken":"<<BOOTSTRAP_TOKEN>>","nodeName":"<<MACHINE_NAME>>"}',
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
    const { clock, log } = this;
    const random = seededRandom((this.#options.seed ?? 1) + 2);
    const between = this.#options.between ?? ((transport: Transport) => transport);
    const client = createClient({
      transport: life.wrap(between(handlerTransport(this.#plane.fetch), clock)),
      userAgent: name === 'manager' ? 'machine-controller-manager' : 'machine-controller',
      clock,
      random,
    });
    const runtime = { clock, random, log, freeze: true };
    if (name === 'manager') {
      const { ended } = runManager({ control: client, target: client, namespace: NAMESPACE, runtime }, {}, stop.signal);
      void ended.catch((error: unknown) => this.#ended(name, stop, error));
      return;
    }
    const controller = buildMachineController({
      driver: createLocalDriver({ clock, connect: () => life.wrap(this.#cloudTransport()) }),
      control: client,
      target: client,
      namespace: NAMESPACE,
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
    if (!stop.signal.aborted) this.violations.push(`${name} ended by itself: ${String(error)}`);
  }

  /** Every answer of the cloud is a moment to check that no machine has two VMs. */
  #cloudTransport(): Transport {
    const transport = handlerTransport(async (request) => this.cloud.fetch(request));
    return async (request) => {
      const answer = await transport(request);
      const names = this.vms();
      const twice = names.filter((name, index) => names.indexOf(name) !== index);
      if (twice.length > 0) this.violations.push(`two VMs for ${[...new Set(twice)].join(', ')}`);
      return answer;
    };
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
    await this.admin.resource<MachineDeployment>(machineDeployments, NAMESPACE).create({
      metadata: { name: DEPLOYMENT, namespace: NAMESPACE },
      spec: {
        replicas,
        selector: { matchLabels: { name: DEPLOYMENT } },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
        template: {
          metadata: { labels: { name: DEPLOYMENT } },
          spec: { class: { kind: 'MachineClass', name: 'blue' } },
        },
      },
    });
  }

  async change(spec: object): Promise<void> {
    await this.admin
      .resource<MachineDeployment>(machineDeployments, NAMESPACE)
      .patch(DEPLOYMENT, { type: 'merge', body: { spec } });
  }

  /** Runs until the fleet has `replicas` machines of a class, all Running, and nothing else is left anywhere. */
  async untilSettled(replicas: number, machineClass: string, maxMs = 3_600_000): Promise<void> {
    try {
      await this.clock.runUntil(async () => (await this.#mismatch(replicas, machineClass)) === undefined, { maxMs });
    } catch (error) {
      throw new Error(`${await this.#mismatch(replicas, machineClass)}\n${this.describe()}`, { cause: error });
    }
  }

  async #mismatch(replicas: number, machineClass: string): Promise<string | undefined> {
    const all = await this.machines();
    const names = all.map((machine) => machine.metadata.name).sort();
    if (all.length !== replicas) return `${all.length} machines, not ${replicas}`;
    const other = all.find(
      (machine) => machine.status?.currentStatus?.phase !== 'Running' || machine.spec.class?.name !== machineClass,
    );
    if (other)
      return `${other.metadata.name} is ${other.status?.currentStatus?.phase ?? 'new'} of class ${other.spec.class?.name}`;
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
    for (const { stop } of this.#running.values()) stop.abort(new Error('closed'));
    await this.cloud.close();
    await this.#plane.close();
  }
}
