import { type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import {
  createClient,
  createMemoryLogger,
  createRecorder,
  type Draft,
  type KubeClient,
  type MemoryLogger,
  type Node,
  nodes,
  type Pod,
  type PodVolume,
  pods,
  runElected,
  secrets,
  seededRandom,
  type Transport,
  type VirtualClock,
} from '@mcm/kube';
import { watchBoundWrites } from '@mcm/kube/testing';
import { controllerIdOf, FakeCloud, type FakeCloudOptions, type FakeVm } from '../../driver/testing.ts';
import { buildMachineController, type MachineController } from '../build.ts';
import type { MachineControllerOptions } from '../options.ts';
import { withKnownProbes } from './known-probes.ts';

/** The tests run the whole machine controller with a control plane in one process, on a virtual clock. */

export const NAMESPACE = 'default';

export interface RigOptions {
  readonly clock: VirtualClock;
  readonly plane: { readonly transport: Transport };
  readonly seed?: number;
  readonly cloud?: Omit<FakeCloudOptions, 'onCreated' | 'onDeleted'>;
  /** The milliseconds until the node of a VM joins (default: 0), or undefined if the node never joins. */
  readonly joinAfterMs?: number | undefined;
  readonly wrap?: (transport: Transport) => Transport;
  readonly controller?: Partial<MachineControllerOptions<never, never>>;
  readonly sharedCloud?: FakeCloud;
  readonly target?: boolean;
  readonly controlAnsweredMs?: () => number | undefined;
  readonly elects?: boolean;
}

/** Each renewal is a request, so the tests renew the Lease less often than in production. */
const TIMINGS = { leaseMs: 60_000, renewDeadlineMs: 40_000, retryMs: 10_000 } as const;

/** Tests count the requests of the controller by the user agent. */
export const USER_AGENT = 'machine-controller-test';

const READY = [
  { type: 'Ready', status: 'True', reason: 'KubeletReady', lastTransitionTime: '2026-01-01T00:00:00Z' },
] as const;

export class Rig {
  readonly clock: VirtualClock;
  readonly admin: KubeClient;
  readonly cloud: FakeCloud;
  readonly log: MemoryLogger = createMemoryLogger();
  /** The tests verify that each write has the resource version of the object on which the decision was based. */
  readonly writes = watchBoundWrites(['machines', 'machinesets']);
  readonly #options: RigOptions;
  #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #started = 0;
  controller: MachineController | undefined;

  constructor(options: RigOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.admin = this.#client('test', options.plane.transport);
    this.cloud =
      options.sharedCloud ??
      new FakeCloud({
        ...options.cloud,
        now: () => this.clock.now().toISOString(),
        onCreated: (vm) => this.#boot(vm),
      });
  }

  #client(userAgent: string, transport: Transport): KubeClient {
    return createClient({ transport, userAgent, clock: this.clock, random: seededRandom(this.#options.seed ?? 1) });
  }

  #boot(vm: FakeVm): void {
    const { joinAfterMs = 'joinAfterMs' in this.#options ? undefined : 0 } = this.#options;
    if (joinAfterMs === undefined) return;
    this.clock.setTimeout(() => {
      if (this.cloud.vms.includes(vm)) void this.join(vm);
    }, joinAfterMs);
  }

  async join({ nodeName, providerId }: Pick<FakeVm, 'nodeName' | 'providerId'>): Promise<void> {
    const client = this.admin.resource(nodes);
    await client.create({ metadata: { name: nodeName }, spec: { providerID: controllerIdOf(providerId) } });
    await this.conditions(nodeName, READY);
  }

  async conditions(nodeName: string, conditions: readonly object[]): Promise<void> {
    const body = { status: { conditions } };
    await this.admin.resource(nodes).patch(nodeName, { type: 'merge', body }, { subresource: 'status' });
  }

  start({ elects = this.#options.elects ?? false }: Pick<RigOptions, 'elects'> = {}): void {
    const { plane, wrap = (transport) => transport, controller, target, controlAnsweredMs, seed = 1 } = this.#options;
    this.#stop = new AbortController();
    const transport = this.writes.wrap(wrap(withKnownProbes(plane.transport)));
    const client = this.#client(USER_AGENT, transport);
    // Probes have the user agent of production, so that tests can exclude probes from the number of requests.
    const probe = this.#client('reachability', transport);
    const { clock, log } = this;
    const random = seededRandom(seed);
    const built = buildMachineController({
      driver: this.cloud.driver(),
      control: client,
      target: target === false ? undefined : client,
      probes: { control: probe, target: target === false ? undefined : probe, controlAnsweredMs },
      namespace: NAMESPACE,
      clock,
      random,
      secretRandom: random,
      log,
      recorder: createRecorder({ client, component: 'machine-controller', clock, log }),
      targetRecorder: createRecorder({ client, component: 'machine-controller', clock, log }),
      runtime: { freeze: true },
      ...(controller as object),
    });
    this.controller = built;
    const { signal } = this.#stop;
    const lease = { namespace: NAMESPACE, name: USER_AGENT };
    const identity = `${USER_AGENT}-${this.#started++}`;
    const election = { client, lease, identity, timings: TIMINGS, clock, random: seededRandom(seed), log, signal };
    this.#running = elects ? runElected(election, (term) => built.run(term)) : built.run(signal);
  }

  /** Stops the controller immediately, without completing reconciles. */
  async kill(): Promise<void> {
    this.#stop.abort(new Error('killed'));
    await this.#running.catch(() => undefined);
  }

  async createClass(
    name = 'small',
    userData: string | Uint8Array = 'hello <<MACHINE_NAME>>',
    change: Partial<MachineClass> = {},
  ): Promise<void> {
    const data = { userData: Buffer.from(userData).toString('base64') };
    await this.admin.resource(secrets, NAMESPACE).create({ metadata: { name, namespace: NAMESPACE }, data });
    const draft = {
      metadata: { name, namespace: NAMESPACE },
      providerSpec: {},
      secretRef: { name, namespace: NAMESPACE },
      ...change,
    };
    await this.admin.resource<MachineClass>(machineClasses, NAMESPACE).create(draft as Draft<MachineClass>);
  }

  async createMachine(
    name: string,
    spec: Partial<Machine['spec']> = {},
    metadata: Partial<Machine['metadata']> = {},
  ): Promise<Machine> {
    return this.admin.resource<Machine>(machines, NAMESPACE).create({
      metadata: {
        name,
        namespace: NAMESPACE,
        finalizers: ['machine.sapcloud.io/machine-controller-manager'],
        annotations: { 'machinepriority.machine.sapcloud.io': '3' },
        ...metadata,
      },
      spec: { class: { kind: 'MachineClass', name: 'small' }, ...spec },
    });
  }

  async deleteMachine(name: string): Promise<void> {
    await this.admin.resource<Machine>(machines, NAMESPACE).delete(name);
  }

  async machine(name: string): Promise<Machine | undefined> {
    const all = await this.machines();
    return all.find(({ metadata }) => metadata.name === name);
  }

  async machines(): Promise<readonly Machine[]> {
    return (await this.admin.resource<Machine>(machines, NAMESPACE).list()).items;
  }

  async nodes(): Promise<readonly Node[]> {
    return (await this.admin.resource(nodes).list()).items;
  }

  async phase(name: string): Promise<string | undefined> {
    return (await this.machine(name))?.status?.currentStatus?.phase;
  }

  async description(name: string): Promise<string> {
    return (await this.machine(name))?.status?.lastOperation?.description ?? '';
  }

  async createPod(
    name: string,
    nodeName: string,
    labels: Record<string, string> = {},
    volumes: PodVolume[] = [],
  ): Promise<void> {
    const client = this.admin.resource(pods, NAMESPACE);
    const draft: Draft<Pod> = {
      metadata: { name, namespace: NAMESPACE, labels },
      spec: { nodeName, containers: [{ name: 'main', image: 'pause' }], terminationGracePeriodSeconds: 30, volumes },
    };
    await client.create(draft);
    const body = { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
    await client.patch(name, { type: 'merge', body }, { subresource: 'status' });
  }

  async podNames(): Promise<readonly string[]> {
    return (await this.admin.resource(pods, NAMESPACE).list()).items.map(({ metadata }) => metadata.name);
  }

  until(done: () => Promise<boolean>, maxMs = 3_600_000): Promise<number> {
    return this.clock.runUntil(done, { maxMs });
  }
}
