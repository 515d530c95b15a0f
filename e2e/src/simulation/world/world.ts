import { Annotations, crds, Labels, type Machine, machineClasses } from '@mcm/api';
import { Reporter, SetWatch } from '@mcm/conformance/fleet';
import { type ControlPlaneOptions, startControlPlane, startRestorablePlane } from '@mcm/control-plane';
import {
  controllerOf,
  createClient,
  createMemoryLogger,
  type MemoryLogger,
  nodes,
  secrets,
  seededRandom,
  type Transport,
  VirtualClock,
  withoutUndefined,
} from '@mcm/kube';
import type { LocalCloud } from '@mcm/provider-local';
import { Network } from '../network/network.ts';
import { BOUNDS } from '../record/bounds.ts';
import { MAX_CALLS, StepLimit } from '../record/step-limit.ts';
import { CloudProcess } from './cloud-process.ts';
import { Controllers } from './controllers.ts';
import { Disk } from './disk.ts';
import { Fleet } from './fleet.ts';
import { accountsOf, asInstalled, makeRoles } from './installed-roles.ts';
import { type Plane, PlaneProcess } from './plane-process.ts';
import { ENDPOINT, NAMESPACE, type ProcessName, type WorldOptions } from './world-options.ts';

export { NAMESPACE, type ProcessName, type WorldOptions } from './world-options.ts';

const LOOK_EVERY_MS = 250;
const CLOSE_MS = 60_000;

export interface Wanted {
  readonly name?: string;
  readonly replicas: number;
  readonly machineClass: string;
}

const DECIDED_BY = ['machinedeployments', 'machinesets', 'machines', 'nodes'] as const;
const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);

type RequestLog = NonNullable<ControlPlaneOptions['requestLog']>;

/**
 * The whole system in one process with a virtual clock: the embedded control plane, the local cloud with simulated
 * kubelets, and both controllers.
 */
export class World extends Fleet {
  readonly log: MemoryLogger;
  readonly network: Network;
  readonly lagMs: () => number;
  readonly steps: StepLimit;
  readonly writes: string[] = [];
  readonly deletions: { readonly at: string; readonly name: string }[] = [];
  wantsWarm = 0;
  readonly #options: WorldOptions;
  readonly #plane: Plane;
  readonly #planeProcess: PlaneProcess;
  readonly #cache: SetWatch;
  readonly #cloud: CloudProcess;
  readonly #controllers: Controllers;
  readonly #disk: Disk | undefined;
  readonly #end = new AbortController();

  private constructor(options: WorldOptions, clock: VirtualClock, plane: Plane, disk: Disk | undefined) {
    const cache = new SetWatch();
    const lagMs = (): number => network.lagMs('manager', ...DECIDED_BY);
    const reporter = new Reporter(clock, {
      replicasOf: (uid) => cache.sizeOf(uid),
      largestSince: (uid, since) => cache.largestSince(uid, since),
      reducedAt: (uid) => cache.reducedAt(uid),
      totalOf: (uid) => cache.totalOf(uid),
      recordedAt: (uid) => cache.recordedAt(uid),
      repeatsUnread: (name) => network.repeatsUnread(name),
      limit: options.maxUnhealthyReplacements ?? 1,
      patienceMs: BOUNDS.patience.ms,
      lagMs,
    });
    const { seed = 1 } = options;
    const planeProcess = new PlaneProcess({ plane, disk, clock, reporter, random: seededRandom(seed + 5) });
    const { transport: apiServer, adminTransport } = planeProcess;
    super(
      { clock, reporter, admin: createClient({ transport: adminTransport, userAgent: 'simulation', clock }) },
      options,
    );
    const log = createMemoryLogger();
    const steps = new StepLimit(clock, reporter);
    const network = new Network({
      clock,
      seed,
      profile: options.profile,
      random: seededRandom(seed + 3),
      kill: (caller) => caller !== 'kubelets' && this.kill(caller),
      note: (text) => reporter.note('act', text),
      isOver: () => steps.isOver,
      compact: () => plane.compact(),
    });
    this.#options = options;
    this.lagMs = lagMs;
    this.#plane = plane;
    this.#planeProcess = planeProcess;
    this.#disk = disk;
    this.#cache = cache;
    this.log = log;
    this.network = network;
    this.steps = steps;
    this.#cloud = new CloudProcess({
      clock,
      random: seededRandom(seed + 1),
      log: log.with({ process: 'cloud' }),
      reporter,
      apiServer: network.wire('kubelets', apiServer),
      kubelets: options.kubelets ?? {},
      disk,
    });
    const random = seededRandom(seed + 2);
    const cloud = this.#cloud.transport();
    const accounts = accountsOf(options.isSeparate ?? false);
    const servers = {
      manager: asInstalled(apiServer, accounts.manager),
      'machine-controller': asInstalled(apiServer, accounts.controller),
    };
    const parts = { clock, log, random, network, reporter, apiServer: servers, cloud };
    this.#controllers = new Controllers(parts, options);
  }

  static async start(options: WorldOptions = {}): Promise<World> {
    const clock = new VirtualClock({ maxCalls: MAX_CALLS });
    const random = seededRandom(options.seed ?? 1);
    let world: World | undefined;
    const how: ControlPlaneOptions = {
      clock,
      random: () => random.next(),
      crds: [...crds, ...(options.crds ?? [])],
      requestLog: (request) => {
        if (world) world.#answered(request);
      },
    };
    const { port } = options;
    const disk = options.disks ? new Disk(seededRandom((options.seed ?? 1) + 4)) : undefined;
    const store = disk && { dir: disk.plane };
    const plane = await (options.restorable || disk
      ? startRestorablePlane({ ...how, ...withoutUndefined({ store }) })
      : startControlPlane({ ...how, ...withoutUndefined({ port }) }));
    world = new World(options, clock, plane, disk);
    await world.#furnish();
    await makeRoles(world.admin, options.isSeparate);
    await options.furnish?.(world.admin);
    world.#look();
    world.startProcess('manager');
    world.startProcess('machine-controller');
    return world;
  }

  #answered({ verb, resource, subresource, name, userAgent, code }: Parameters<RequestLog>[0]): void {
    const resourceName = [resource, ...(subresource ? [subresource] : []), ...(name ? [name] : [])].join('/');
    this.reporter.note('request', `${userAgent.split('/')[0]} ${verb} ${resourceName} ${code}`);
    const isController = userAgent.startsWith('machine-controller');
    if (isController && code === 403) this.reporter.violate(`no role allows ${userAgent} to ${verb} ${resourceName}`);
    const ours = isController && resource !== 'leases' && resource !== 'events';
    const written = code < 400 && WRITES.has(verb);
    if (!ours) return;
    // The step limit ignores creations, because their requests have no object name and a large fleet needs many
    // creations.
    this.steps.answered(written && name ? `${resource}/${name}` : undefined);
    if (!written) return;
    this.writes.push(`${verb} ${resource} ${name}`);
    if (verb === 'delete' && resource === 'machines') this.deletions.push({ at: this.clock.now().toISOString(), name });
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
    const annotations = this.#options.classAnnotations ?? {};
    for (const name of ['blue', 'green', ...(this.#options.moreClasses ?? [])]) {
      await this.admin.resource(machineClasses, NAMESPACE).create({
        metadata: { name, namespace: NAMESPACE, annotations },
        provider: 'local',
        secretRef: { name: 'cloud', namespace: NAMESPACE },
        providerSpec: {
          image: 'hollow:v1',
          zone: 'local-a',
          tags: { 'kubernetes.io/cluster/simulation': '1', 'kubernetes.io/role/node': '1' },
        },
        ...this.#options.classFields,
      });
    }
  }

  #look(): void {
    const { clock, log, reporter } = this;
    const byHand = this.#options.inPlace === 'Manual';
    this.#cache.watch(this.admin, { clock, log, reporter, byHand }, this.#end.signal);
  }

  get violations(): readonly string[] {
    return this.reporter.violations;
  }

  kubeconfig(): string {
    return this.#plane.kubeconfig();
  }

  backup(): ReturnType<Plane['snapshot']> {
    return this.#plane.snapshot();
  }

  /** Removes all past changes from the history of the API server, so that old watches fail. */
  compact(): void {
    this.#plane.compact();
  }

  async restore(backup: ReturnType<Plane['snapshot']>, bumpRevision = 0): Promise<void> {
    if (!this.#plane.restore) throw new Error('the simulation was started without the option `restorable`');
    this.reporter.note('act', `the user restores the cluster to revision ${backup.revision}`);
    await this.#plane.restore(backup, { bumpRevision });
    // This call reports the restore to the verifiers. A controller can change the restored objects before the verifiers
    // list them.
    this.admin.history.wentBack(`the cluster was restored to revision ${backup.revision}`);
  }

  /** Sends a request to the API server as an administrator. `openExtraAddress` uses this function. */
  readonly fetch = (request: Request): Promise<Response> => this.#plane.fetch(request);

  transport(): Transport {
    return this.#plane.transport;
  }

  get cloud(): LocalCloud {
    return this.#cloud.cloud;
  }

  get cloudRuns(): boolean {
    return this.#cloud.runs;
  }

  get vmsMade(): number {
    return this.#cloud.vmsMade;
  }

  /** Restarts the process of the cloud. */
  restartCloud(downMs: number): void {
    this.#cloud.restart(downMs);
  }

  /** Crashes the embedded control plane during a write. */
  crashPlane(downMs: number): Promise<void> {
    return this.#planeProcess.crash(downMs);
  }

  /** Verifies that the files of the control plane contain every confirmed change. */
  async verifyDisk(): Promise<void> {
    if (!this.#disk) return;
    await this.clock.settle();
    const older = this.log.lines.find(({ message }) => message.startsWith('API server has an older state'));
    if (older)
      this.reporter.violate(
        `the control plane crashed and lost changes that a controller had already read: ${JSON.stringify(older)}`,
      );
    for (const loss of this.#disk.planeLosses(this.#plane.snapshot())) this.reporter.violate(loss);
  }

  /** Kills a controller like SIGKILL, and starts a new process. */
  kill(name: ProcessName): void {
    this.#controllers.kill(name);
  }

  /** Stops a process as SIGSTOP does, and continues it after `ms`. */
  freeze(name: ProcessName, ms: number): void {
    this.#controllers.freeze(name, ms);
  }

  startProcess(name: ProcessName): void {
    this.#controllers.start(name);
  }

  requests(name: ProcessName): number {
    return this.#controllers.requests(name);
  }

  vms(): string[] {
    return [...this.cloud.instances.list()]
      .filter((instance) => instance.state !== 'terminated')
      .map((instance) => instance.name)
      .sort();
  }

  /** Waits until `done` returns true, and checks at intervals of virtual time. */
  async until(done: () => Promise<boolean>, maxMs = 3_600_000): Promise<number> {
    let nextLook = 0;
    let due = false;
    const look = async (): Promise<boolean> => {
      const now = this.clock.now().getTime();
      if (now >= nextLook) {
        nextLook = now + LOOK_EVERY_MS;
        return done();
      }
      // The timer makes sure that the check runs even if no process is active.
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

  async isSettled(replicas: number, machineClass: string): Promise<boolean> {
    return (await this.#mismatch([{ replicas, machineClass }])) === undefined;
  }

  /** Runs until the fleet has `replicas` machines of a class, all of them are Running, and no other objects exist. */
  async untilSettled(replicas: number, machineClass: string, maxMs = 3_600_000): Promise<number> {
    return this.untilAllSettled([{ replicas, machineClass }], maxMs);
  }

  /** Runs until each deployment has its machines, all of them are Running, and no other objects exist. */
  async untilAllSettled(wanted: readonly Wanted[], maxMs: number): Promise<number> {
    try {
      return await this.until(async () => (await this.#mismatch(wanted)) === undefined, maxMs);
    } catch (error) {
      throw new Error(`${await this.#mismatch(wanted)}\n${this.describe()}`, { cause: error });
    }
  }

  /** Returns the largest size of a set since a time in milliseconds. */
  largestSince(uid: string, since: number): number {
    return this.#cache.largestSince(uid, since);
  }

  #classOf(machine: Machine): string | undefined {
    const owner = this.#options.inPlace && controllerOf(machine);
    return owner ? this.#cache.classOf(owner.uid) : machine.spec.class?.name;
  }

  #lacks(machines: readonly Machine[], { name, replicas, machineClass }: Wanted): string | undefined {
    const own = machines.filter(
      (machine) => !isWarm(machine) && (name === undefined || machine.metadata.labels?.name === name),
    );
    if (own.length !== replicas) return `${own.length} machines, not ${replicas}${name ? ` of ${name}` : ''}`;
    const other = own.find(
      (machine) => machine.status?.currentStatus?.phase !== 'Running' || this.#classOf(machine) !== machineClass,
    );
    return (
      other &&
      `${other.metadata.name} is ${other.status?.currentStatus?.phase ?? 'new'} of class ${this.#classOf(other)}`
    );
  }

  #lacksWarm(machines: readonly Machine[]): string | undefined {
    const warm = machines.filter(isWarm);
    if (warm.length !== this.wantsWarm)
      return `${warm.length} warm machines exist, but the user requests ${this.wantsWarm}`;
    const busy = warm.find((machine) => !isOff(machine) && machine.status?.currentStatus?.phase !== 'Running');
    if (busy) return `the warm machine ${busy.metadata.name} is still being prepared`;
    const off = new Set(machines.filter(isOff).map(({ metadata }) => metadata.name));
    const wrong = [...this.cloud.instances.list()].find(
      ({ name, state }) => state !== 'terminated' && state !== (off.has(name) ? 'stopped' : 'running'),
    );
    return wrong && `the VM of ${wrong.name} is ${wrong.state}`;
  }

  async #mismatch(wanted: readonly Wanted[]): Promise<string | undefined> {
    const machines = await this.machines();
    const names = machines.map((machine) => machine.metadata.name).sort();
    const lacks = wanted.map((one) => this.#lacks(machines, one)).find((text) => text !== undefined);
    if (lacks !== undefined) return lacks;
    if (String(this.vms()) !== String(names)) return `the cluster has the VMs ${this.vms()}, but the machines ${names}`;
    const all = (await this.admin.resource(nodes).list()).items;
    const lacksWarm = this.#lacksWarm(machines);
    if (lacksWarm !== undefined) return lacksWarm;
    const running = machines.filter((machine) => !isOff(machine)).map(({ metadata }) => metadata.name);
    const nodeNames = all.map(({ metadata }) => metadata.name).sort();
    if (String(nodeNames) !== String(running.sort()))
      return `the cluster has the nodes ${nodeNames}, but the running machines ${running}`;
    // If a user reverted the template while a node was being updated, mcm must update the node again.
    const candidate = all.find(({ metadata }) => metadata.labels?.[Labels.CandidateForUpdate] !== undefined);
    if (candidate) return `node ${candidate.metadata.name} is a candidate for an update`;
    const tokens = (await this.admin.resource(secrets, 'kube-system').list()).items.filter(
      (secret) => secret.type === 'bootstrap.kubernetes.io/token',
    );
    return tokens.length > 0 ? `bootstrap tokens remain: ${tokens.map((secret) => secret.metadata.name)}` : undefined;
  }

  /** Reports the nodes that accept no pods, although all rollouts, drains and updates are complete. */
  async verifySchedulable(): Promise<void> {
    for (const { metadata, spec } of (await this.admin.resource(nodes).list()).items) {
      if (spec.unschedulable) this.reporter.violate(`node ${metadata.name} stays cordoned`);
    }
  }

  describe(): string {
    return this.log.lines
      .slice(-25)
      .map((line) => JSON.stringify(line))
      .join('\n');
  }

  async close(): Promise<void> {
    this.#end.abort(new Error('closed'));
    this.#controllers.stop();
    if (!this.steps.isOver) await this.clock.ended(this.cloud.close(), { maxMs: CLOSE_MS });
    await this.#plane.close();
    this.#disk?.remove();
  }
}

const isWarm = ({ metadata }: Machine): boolean => metadata.annotations?.[Annotations.WarmState] !== undefined;

const isOff = ({ metadata, status }: Machine): boolean =>
  metadata.annotations?.[Annotations.WarmPower] === 'Stopped' && status?.currentStatus?.phase === 'Available';
