import { crds, formatDurationMs, type Machine, machineClasses, machines } from '@mcm/api';
import { Reporter, SimulatedProcess } from '@mcm/conformance/fleet';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { buildMachineController, type Journal } from '@mcm/core';
import {
  configMaps,
  createClient,
  createMemoryLogger,
  createRecorder,
  defined,
  type EventRecorder,
  events,
  handlerTransport,
  ignoreNotFound,
  isConflict,
  isNotFound,
  type KubeClient,
  type Logger,
  type MemoryLogger,
  nodes,
  type Pod,
  type Random,
  secrets,
  seededRandom,
  type Transport,
  VirtualClock,
} from '@mcm/kube';
import { type Cloud, createCloud, createLocalDriver } from '@mcm/provider-local';
import { Network } from '../network/network.ts';
import type { ProfileName } from '../network/profiles.ts';
import { SkewedClock } from '../processes/skewed-clock.ts';
import { MAX_CALLS, StepLimit } from '../record/step-limit.ts';
import { NAMESPACE } from '../world/world.ts';
import { ApiCache } from './api-cache.ts';
import { type App, createApp, setBudget } from './apps.ts';
import { HollowNodes } from './hollow-nodes.ts';
import { hasOtherFinalizer, MachineVerifier, OTHER_FINALIZER } from './machine-verifier.ts';
import { VolumeVerifier } from './volume-verifier.ts';

const USER_AGENT = 'machine-controller';
/** The tests create a thousand control planes, so only the CRDs for machines are installed. */
const KINDS = /^(machines|machineclasses)\./;
const CONTROLLERS = [
  'disruption',
  'scheduler',
  'replicaset',
  'statefulset',
  'attachdetach',
  'pod-garbage-collector',
  'serviceaccount',
  'token-cleaner',
];
const MACHINE_CRDS = crds.filter((crd) => KINDS.test((crd as { metadata: { name: string } }).metadata.name));
const CLOUD_TOKEN = 'cloud-token-9d1f';
const USER_DATA = 'user-data-7c2b';

export const DRAIN_TIMEOUT_MS = 600_000;
export const HEALTH_TIMEOUT_MS = 180_000;
const ENDPOINT = 'http://cloud.invalid';

export interface Defect {
  readonly kube?: (transport: Transport, clock: VirtualClock) => Transport;
  readonly cloud?: (transport: Transport) => Transport;
  readonly log?: (log: Logger) => Logger;
  readonly furnish?: (admin: KubeClient) => Promise<void>;
}

export interface MachineWorldOptions {
  readonly seed: number;
  readonly profile?: ProfileName | undefined;
  readonly defect?: Defect;
  readonly journal?: Journal | undefined;
  readonly volumeLimit?: number | undefined;
}

type Plane = Pick<ControlPlane, 'transport' | 'compact' | 'close'>;

interface Process {
  readonly proc: SimulatedProcess;
  readonly stop: AbortController;
  readonly clock: SkewedClock;
}

/** Machines with VMs and nodes, pods with disruption budgets and volumes, and one or two machine controllers. */
export class MachineWorld {
  readonly clock: VirtualClock;
  readonly log: MemoryLogger = createMemoryLogger();
  readonly admin: KubeClient;
  readonly network: Network;
  readonly reporter: Reporter;
  /** Ends a history that never becomes idle. */
  readonly steps: StepLimit;
  readonly cache: ApiCache;
  readonly hollow: HollowNodes;
  readonly cloud: Cloud;
  readonly verifier: MachineVerifier;
  readonly apps = new Map<string, App>();
  readonly writes: string[] = [];
  readonly held = new Set<string>();
  secretIsBroken = false;
  #created = 0;
  readonly #tokens = new Set<string>();
  readonly #plane: Plane;
  readonly #random: Random;
  readonly #end = new AbortController();
  readonly #processes = new Set<Process>();
  readonly #restartAfterMs: number;
  readonly #defect: Defect;
  readonly #journal: Journal | undefined;
  readonly #volumeLimit: number | undefined;
  readonly #volumes: VolumeVerifier[] = [];
  #isSkewed = false;

  private constructor(
    { seed, profile, defect = {}, journal, volumeLimit }: MachineWorldOptions,
    clock: VirtualClock,
    plane: Plane,
  ) {
    this.clock = clock;
    this.#defect = defect;
    this.#journal = journal;
    this.#volumeLimit = volumeLimit;
    this.#plane = plane;
    this.#random = seededRandom(seed + 2);
    this.#restartAfterMs = 1_000 * (seed % 11);
    this.reporter = new Reporter(clock);
    this.steps = new StepLimit(clock, this.reporter);
    this.network = new Network({
      clock,
      seed,
      profile,
      random: seededRandom(seed + 3),
      kill: () => this.kill(),
      note: (text) => this.reporter.note('act', text),
      isOver: () => this.steps.isOver,
      compact: () => plane.compact(),
    });
    this.admin = createClient({ transport: plane.transport, userAgent: 'stage', clock });
    this.cache = new ApiCache(this.admin, clock, this.log);
    const fail = (text: string): void => this.reporter.violate(text);
    const kubelets = this.network.wire('kubelets', plane.transport);
    const client = createClient({ transport: kubelets, userAgent: 'kubelet', clock });
    this.hollow = new HollowNodes({ clock, client, cache: this.cache, fail });
    this.hollow.joinDelayMs = 500 * (seed % 7);
    this.hollow.unmountMs = 4_000 * (seed % 5);
    const log = this.log.with({ process: 'cloud' });
    const latencies = { shutdownMs: 300 * (seed % 4) };
    this.cloud = createCloud({
      clock,
      random: seededRandom(seed + 1),
      log,
      host: this.hollow,
      token: CLOUD_TOKEN,
      latencies,
    });
    this.verifier = new MachineVerifier({
      clock,
      cache: this.cache,
      reporter: this.reporter,
      apps: this.apps,
      drainTimeoutMs: DRAIN_TIMEOUT_MS,
      instances: () => this.cloud.instances.list(),
      healthTimeoutMs: HEALTH_TIMEOUT_MS,
      lagMs: (...kinds) => this.network.lagMs('machine-controller', ...kinds),
      unnoticedLagMs: (...kinds) => this.network.unnoticedLagMs('machine-controller', ...kinds),
      usersOf: (volume) => this.hollow.usersOf(volume),
    });
    this.cache.tokens.onChange(({ object }) => {
      const secret = object.data?.['token-secret'];
      if (secret) this.#tokens.add(Buffer.from(secret, 'base64').toString());
    });
    void this.cache.run(this.#end.signal).catch(() => undefined);
  }

  get violations(): readonly string[] {
    return this.reporter.violations;
  }

  static async start(options: MachineWorldOptions): Promise<MachineWorld> {
    const { seed, defect } = options;
    const clock = new VirtualClock({ maxCalls: MAX_CALLS });
    const random = seededRandom(seed);
    let world: MachineWorld | undefined;
    const plane = await startControlPlane({
      clock,
      random: () => random.next(),
      crds: MACHINE_CRDS,
      controllers: CONTROLLERS,
      requestLog: ({ verb, resource, subresource, name, userAgent, code }) => {
        const what = [resource, ...(subresource ? [subresource] : []), ...(name ? [name] : [])].join('/');
        world?.reporter.note('request', `${userAgent.split('/')[0]} ${verb} ${what} ${code}`);
        if (!userAgent.startsWith(USER_AGENT) || resource === 'events') return;
        const written = code < 400 && ['create', 'update', 'patch', 'delete'].includes(verb);
        world?.steps.answered(written ? `${resource}/${name}` : undefined);
        if (written) world?.writes.push(`${verb} ${what}`);
      },
    });
    world = new MachineWorld(options, clock, plane);
    await world.#furnish();
    await defect?.furnish?.(world.admin);
    world.startProcess();
    return world;
  }

  async #furnish(): Promise<void> {
    const data = { endpoint: ENDPOINT, token: CLOUD_TOKEN, userData: `${USER_DATA} <<BOOTSTRAP_TOKEN>>` };
    await this.admin.resource(secrets, NAMESPACE).create({
      metadata: { name: 'cloud', namespace: NAMESPACE },
      data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
    });
    const tags = { 'kubernetes.io/cluster/simulation': '1', 'kubernetes.io/role/node': '1' };
    for (const [name, zone] of Object.entries({ blue: 'local-a', green: 'local-b' })) {
      await this.admin.resource(machineClasses, NAMESPACE).create({
        metadata: { name, namespace: NAMESPACE },
        provider: 'local',
        secretRef: { name: 'cloud', namespace: NAMESPACE },
        providerSpec: { image: 'hollow:v1', zone, tags },
      });
    }
  }

  get volumesVerified(): number {
    return this.#volumes.reduce((sum, { verified }) => sum + verified, 0);
  }

  #limited(): VolumeVerifier | undefined {
    const { clock, cache, verifier } = this;
    if (this.#volumeLimit === undefined) return undefined;
    const volumes = new VolumeVerifier({
      clock,
      cache,
      limit: this.#volumeLimit,
      violate: (text) => this.reporter.violate(text),
      // If the clock of the controller differs, its detach timeout ends at another time than the verifier expects.
      isLimited: (node) => !this.#isSkewed && !verifier.isLostNode(node),
      lagMs: () => this.network.lagMs('machine-controller', 'volumeattachments', 'pods'),
    });
    this.#volumes.push(volumes);
    return volumes;
  }

  startProcess(): void {
    const stop = new AbortController();
    const clock = new SkewedClock(this.network.clock('machine-controller', this.clock, { life: stop.signal }));
    const proc = new SimulatedProcess(undefined, () => {
      stop.abort(new Error('killed'));
      this.#processes.delete(process);
      if (this.#processes.size === 0) this.clock.setTimeout(() => this.startProcess(), this.#restartAfterMs);
    });
    const process: Process = { proc, stop, clock };
    this.#processes.add(process);
    const random = this.#random;
    const { kube = (sound) => sound, cloud = (sound) => sound, log: logged = (sound: Logger) => sound } = this.#defect;
    const log = logged(this.log.with({ process: USER_AGENT }));
    const wire = this.network.wire('machine-controller', this.#verified(this.#plane.transport, this.#limited()), {
      life: stop.signal,
    });
    const transport = proc.wrap(kube(wire, this.clock));
    const client = createClient({ transport, userAgent: USER_AGENT, clock, random });
    const controller = buildMachineController({
      driver: createLocalDriver({
        clock,
        connect: () => proc.wrap(cloud(this.network.cloudWire('machine-controller', this.#cloudTransport()))),
      }),
      control: client,
      target: client,
      namespace: NAMESPACE,
      clock,
      random,
      secretRandom: random,
      log,
      recorder: this.#receivedUntil(createRecorder({ client, component: USER_AGENT, clock, log })),
      runtime: { clock, random, log, freeze: true },
      volumeWindow: 5,
      volumeLimit: this.#volumeLimit ?? 0,
      journal: this.#journal,
    });
    void controller.run(stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) this.reporter.violate(`the controller ended unexpectedly: ${String(error)}`);
    });
  }

  #receivedUntil(recorder: EventRecorder): EventRecorder {
    return {
      ...recorder,
      event: (about, type, reason, message) => {
        if (reason === 'ReplacementHeld') this.held.add(about.metadata.name);
        if (reason === 'ReplacementResumed') this.held.delete(about.metadata.name);
        recorder.event(about, type, reason, message);
      },
    };
  }

  kill(): void {
    if (this.#processes.size === 0) return;
    this.reporter.note('act', 'the machine controller is killed');
    for (const { proc } of [...this.#processes]) proc.kill();
  }

  killOldest(): void {
    const [oldest] = this.#processes;
    if (this.#processes.size < 2 || !oldest) return;
    this.reporter.note('act', 'the older of two machine controllers ends');
    oldest.proc.kill();
  }

  skew(ms: number): void {
    this.#isSkewed = true;
    for (const { clock } of this.#processes) clock.skewMs = ms;
    this.verifier.clockGoesAhead(ms);
  }

  /** Verifies an eviction or a deletion of a pod when the request arrives at the server. */
  #verified(transport: Transport, volumes: VolumeVerifier | undefined): Transport {
    return async (request) => {
      const [, name, eviction] = /\/pods\/([^/?]+)(\/eviction)?$/.exec(request.path) ?? [];
      const pod = name ? this.cache.pods.store.get(`${NAMESPACE}/${name}`) : undefined;
      const leaves = pod && (eviction ? request.method === 'POST' : request.method === 'DELETE');
      const before: Pod | undefined = leaves ? pod : undefined;
      if (before && eviction) this.verifier.asksToEvict(before);
      const answer = await transport(request);
      if (before && answer.status < 300) this.verifier.beforePodLeaves(before, eviction ? 'evict' : 'delete');
      if (before && eviction && answer.status < 300) volumes?.evicted(before);
      return answer;
    };
  }

  #cloudTransport(): Transport {
    const transport = handlerTransport(async (sent) => this.cloud.fetch(sent));
    return async (request) => {
      const path = request.path.split('?')[0] ?? '';
      if (request.method === 'DELETE') this.verifier.beforeVmDeletion(path.split('/').at(-1) ?? '');
      const answer = await transport(request);
      this.reporter.note('request', `cloud ${request.method} ${path} ${answer.status}`);
      this.verifier.countVms();
      return answer;
    };
  }

  async createMachine(name: string, spec: object = {}): Promise<void> {
    this.reporter.note('act', `the user creates ${name}`);
    this.#created += 1;
    await this.admin.resource<Machine>(machines, NAMESPACE).create({
      metadata: defined({
        name,
        namespace: NAMESPACE,
        labels: { name: 'pool' },
        finalizers: this.#created % 2 === 0 ? undefined : ['machine.sapcloud.io/machine-controller-manager'],
      }),
      spec: {
        creationTimeout: '5m',
        healthTimeout: formatDurationMs(HEALTH_TIMEOUT_MS),
        drainTimeout: '10m',
        class: { kind: 'MachineClass', name: 'blue' },
        ...spec,
      },
    });
  }

  async deleteMachine(name: string): Promise<void> {
    this.reporter.note('act', `the user deletes ${name}`);
    await this.admin.resource<Machine>(machines, NAMESPACE).delete(name);
  }

  async loseMachine(lost: Machine): Promise<void> {
    const { name, uid } = lost.metadata;
    this.reporter.note('act', `Machine ${name} is lost`);
    this.verifier.loses(lost);
    this.verifier.otherFinalizerGoes(uid);
    const machine = this.admin.resource<Machine>(machines, NAMESPACE);
    // A controller adds its finalizer only to machines that are not in deletion, so the simulation first deletes the
    // machine.
    await machine.delete(name);
    await ignoreNotFound(machine.patch(name, { type: 'merge', body: { metadata: { finalizers: null } } }));
  }

  async deleteNode(name: string): Promise<void> {
    this.reporter.note('act', `the user deletes Node ${name}`);
    await this.admin.resource(nodes).delete(name);
  }

  /** Adds the finalizer of another controller to a machine. */
  async addFinalizer(name: string): Promise<void> {
    this.reporter.note('act', `machine ${name} gets the finalizer of another controller`);
    await this.#changeFinalizers(name, (all) => [...all.filter((one) => one !== OTHER_FINALIZER), OTHER_FINALIZER]);
  }

  async removeOtherFinalizers(): Promise<void> {
    for (const { metadata } of this.machines().filter(hasOtherFinalizer)) {
      this.verifier.otherFinalizerGoes(metadata.uid);
      await this.#changeFinalizers(metadata.name, (all) => all.filter((one) => one !== OTHER_FINALIZER));
    }
  }

  async #changeFinalizers(name: string, change: (all: readonly string[]) => readonly string[]): Promise<void> {
    const resource = this.admin.resource<Machine>(machines, NAMESPACE);
    try {
      const { metadata } = await resource.get(name);
      const body = {
        metadata: { finalizers: change(metadata.finalizers ?? []), resourceVersion: metadata.resourceVersion },
      };
      await resource.patch(name, { type: 'merge', body });
    } catch (error) {
      if (isConflict(error)) return this.#changeFinalizers(name, change);
      if (!isNotFound(error)) throw error;
    }
  }

  async breakSecret(isBroken: boolean): Promise<void> {
    this.reporter.note('act', `the Secret of the classes is ${isBroken ? 'unusable' : 'usable'}`);
    this.secretIsBroken = isBroken;
    if (isBroken) this.verifier.secretBreaks();
    const endpoint = isBroken ? null : Buffer.from(ENDPOINT).toString('base64');
    const body = { data: { endpoint } };
    await this.admin.resource(secrets, NAMESPACE).patch('cloud', { type: 'merge', body });
  }

  async labelMachine(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
    this.reporter.note('act', `the user adds to ${name} the label ${JSON.stringify(labels)}`);
    await this.admin
      .resource<Machine>(machines, NAMESPACE)
      .patch(name, { type: 'merge', body: { metadata: { labels } } });
  }

  async createApp(app: App): Promise<void> {
    this.reporter.note('act', `the user creates the pods of app ${JSON.stringify(app)}`);
    this.apps.set(app.name, app);
    await createApp(this.admin, app);
  }

  async setBudget(app: App, minAvailable: number): Promise<void> {
    this.reporter.note('act', `the budget of app ${app.name} requires ${minAvailable} healthy pods`);
    app.minAvailable = minAvailable;
    await setBudget(this.admin, app.name, minAvailable);
  }

  machines(): readonly Machine[] {
    return this.cache.machines.store.list();
  }

  vms(): Map<string, string> {
    const running = [...this.cloud.instances.list()].filter(({ state }) => state !== 'terminated');
    return new Map(running.map(({ clientToken = '', name }) => [clientToken, name]));
  }

  /** Rule (h): returns the objects and logs that contain a secret. */
  async leaks(): Promise<string[]> {
    const forbidden = [CLOUD_TOKEN, USER_DATA, ...this.#tokens];
    const reported = (await this.admin.resource(events, NAMESPACE).list()).items;
    const evidence = (await this.admin.resource(configMaps, NAMESPACE).list()).items;
    const places: readonly (readonly [string, string])[] = [
      ['log', JSON.stringify(this.log.lines)],
      ['events', JSON.stringify(reported)],
      ['evidence', JSON.stringify(evidence)],
      ['machines', JSON.stringify(this.machines())],
      ['history', this.reporter.tell(100_000)],
    ];
    return places.flatMap(([place, text]) =>
      forbidden.filter((secret) => text.includes(secret)).map((secret) => `${place} hold ${secret.slice(0, 4)}…`),
    );
  }

  async close(): Promise<void> {
    this.#end.abort(new Error('closed'));
    for (const { stop } of this.#processes) stop.abort(new Error('closed'));
    this.cloud.close();
    await this.#plane.close();
  }
}
