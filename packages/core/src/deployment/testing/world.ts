import {
  crds,
  type Machine,
  type MachineClass,
  type MachineDeployment,
  type MachineSet,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
} from '@mcm/api';
import { crdsWithoutRules } from '@mcm/api/testing';
import {
  type Clock,
  controllerOf,
  createClient,
  createInformer,
  createMemoryLogger,
  type Draft,
  type EventObject,
  events,
  handlerTransport,
  type Informer,
  type KubeClient,
  type KubeObject,
  type Logger,
  type Node,
  namespaces,
  nodes,
  type RolloutPermit,
  seededRandom,
  type Transport,
  type TransportRequest,
  VirtualClock,
} from '@mcm/kube';
import { watchBoundWrites } from '@mcm/kube/testing';
import type { ControllerContext } from '../../control/caches.ts';
import type { SafeguardSettings } from '../../disruption/safeguards.ts';
import type { Journal } from '../../journal/journal.ts';
import { createDisruptionController } from '../../safety/disruptions/controller.ts';
import { createOvershootController } from '../../safety/overshoot/overshoot.ts';
import { createSetController } from '../../set/reconciler.ts';
import type { DeploymentOptions } from '../execution.ts';
import { createDeploymentController } from '../reconciler.ts';
import { createBufferCaches, createBufferController } from '../warm/buffers.ts';
import { MachineKeeper, type MachineLives } from './machine-keeper.ts';
import { managerContext } from './manager-context.ts';

export const NAMESPACE = 'test';
const FINALIZER = 'machine.sapcloud.io/machine-controller-manager';

/** The package core must not depend on the control plane, so tests pass these functions. */
export interface Plane {
  fetch(request: Request): Promise<Response>;
  readonly transport: Transport;
  close(): Promise<void>;
}

export type StartPlane = (options: {
  readonly clock: Clock;
  readonly random: () => number;
  readonly crds: readonly object[];
  readonly controllers: boolean;
}) => Promise<Plane>;

export interface WorldOptions extends MachineLives {
  readonly seed?: number;
  readonly safetyUp?: number;
  readonly safetyDown?: number;
  readonly safeguards?: Partial<SafeguardSettings>;
  readonly classes?: readonly string[];
  readonly decide?: DeploymentOptions['decide'];
  readonly readyCondition?: boolean;
  readonly blockedBy?: boolean;
  readonly journal?: Journal;
  readonly rollouts?: RolloutPermit;
  readonly reports?: boolean;
  readonly buffers?: boolean;
  readonly moreCrds?: readonly object[];
  readonly wrapLog?: (log: Logger) => Logger;
  readonly traceIdOf?: ControllerContext['traceIdOf'];
  /** Whether the CRDs have no validation rules, so that stored objects may be invalid. */
  readonly lax?: boolean;
  /** Changes a response to the controllers, or throws an error instead of the response. */
  readonly fault?: (request: Request, answer: () => Promise<Response>, clock: VirtualClock) => Promise<Response>;
}

/** Runs the real controllers with the real API server, in one process with a virtual clock. */
export class World implements AsyncDisposable {
  readonly clock = new VirtualClock({ start: new Date('2026-01-01T12:00:00Z') });
  readonly log = createMemoryLogger();
  readonly problems: unknown[] = [];
  readonly writes = new Map<string, number>();
  readonly bound = watchBoundWrites(['machines', 'machinesets']);
  readonly keeper: KubeClient;
  context: ControllerContext;
  /** A cache of all machines. Unlike the caches of the controllers, this cache has no delay. */
  readonly truth: Informer<Machine>;
  readonly namespace = NAMESPACE;
  readonly #plane: Promise<Plane>;
  readonly #options: WorldOptions;
  blockedBy: boolean;
  readonly #stop = new AbortController();
  #stopManager = new AbortController();
  /** Prevents the garbage collection of watch requests, because a collected Request no longer forwards its signal. */
  readonly #watches: Request[] = [];
  #running: Promise<unknown>[] = [];
  #seed = 7;

  static async start(startPlane: StartPlane, options: WorldOptions = {}): Promise<World> {
    const world: World = new World(startPlane, options);
    await world.#begin();
    return world;
  }

  private constructor(startPlane: StartPlane, options: WorldOptions) {
    const random = seededRandom(options.seed ?? 1);
    this.#options = options;
    this.blockedBy = options.blockedBy ?? false;
    this.#plane = startPlane({
      clock: this.clock,
      random: () => random.next(),
      crds: [...(options.lax ? crdsWithoutRules() : crds), ...(options.moreCrds ?? [])],
      controllers: false,
    });
    this.keeper = createClient({
      transport: async (request) => (await this.#plane).transport(request),
      userAgent: 'keeper',
      clock: this.clock,
    });
    this.truth = createInformer<Machine>(this.keeper, machines, {
      clock: this.clock,
      random: seededRandom(3),
      log: this.log,
      namespace: NAMESPACE,
    });
    this.context = this.#newContext();
  }

  async #answer(request: Request): Promise<Response> {
    if (request.url.includes('watch=true')) this.#watches.push(request);
    return (await this.#plane).fetch(request);
  }

  #newContext(): ControllerContext {
    const { fault } = this.#options;
    // Only worlds with faults use the Fetch API, because its requests are slower than the usual transport.
    const reach: Transport =
      fault === undefined
        ? async (request) => (await this.#plane).transport(request)
        : handlerTransport((request) => fault(request, () => this.#answer(request), this.clock));
    const transport: Transport = (request) => {
      this.#count(request);
      return reach(request);
    };
    return managerContext({
      client: createClient({ transport: this.bound.wrap(transport), userAgent: 'mcm', clock: this.clock }),
      namespace: NAMESPACE,
      clock: this.clock,
      random: seededRandom(this.#seed++),
      log: this.#options.wrapLog?.(this.log) ?? this.log,
      safeguards: this.#options.safeguards ?? {},
      journal: this.#options.journal,
      blockedBy: this.blockedBy,
      rollouts: this.#options.rollouts,
      reports: this.#options.reports,
      traceIdOf: this.#options.traceIdOf,
    });
  }

  #count({ method, path: target }: TransportRequest): void {
    if (method === 'GET') return;
    const path = (target.split('?')[0] ?? '').split('/').slice(3);
    const rest = path[1] === 'namespaces' ? path.slice(3) : path;
    const parts = rest[0] === 'v1' || rest[0] === 'v1alpha1' ? rest.slice(1) : rest;
    const kind = parts[0] === 'namespaces' ? parts.slice(2) : parts;
    const what = `${method} ${[kind[0], ...kind.slice(2)].join('/')}`;
    this.writes.set(what, (this.writes.get(what) ?? 0) + 1);
  }

  async #begin(): Promise<void> {
    await this.#plane;
    await this.keeper.resource(namespaces).create({ metadata: { name: NAMESPACE } });
    for (const name of this.#options.classes ?? ['small', 'large', 'huge']) await this.createClass(name);
    const keeper = new MachineKeeper(this, this.#options);
    this.truth.onChange(({ object, type }) => type !== 'deleted' && keeper.look(object));
    this.truth.onChange(({ object, type }) => type === 'added' && this.#verifyName(object));
    this.#running.push(this.truth.run(this.#stop.signal));
    this.#manage();
    await this.clock.settle();
  }

  readonly names = new Map<string, string>();

  #verifyName(machine: Machine): void {
    const { name, uid } = machine.metadata;
    if (controllerOf(machine) === undefined) return;
    const first = this.names.get(name) ?? uid;
    if (first !== uid) this.problems.push(new Error(`two machines had the name ${name}`));
    this.names.set(name, first);
  }

  #manage(): void {
    const { signal } = this.#stopManager;
    const { safetyUp = 2, safetyDown = 1, decide } = this.#options;
    const { context } = this;
    const parts: { run(signal: AbortSignal): Promise<void> }[] = [
      context.deployments,
      context.sets,
      context.machines,
      context.safeguards.classes,
      createSetController(context, { concurrency: 10 }),
      createDeploymentController(context, {
        concurrency: 10,
        protectNodesDuringRollout: true,
        readyCondition: this.#options.readyCondition,
        ...(decide ? { decide } : {}),
      }),
      createOvershootController(context, { safetyUp, safetyDown, periodMs: 60_000, concurrency: 1 }),
    ];
    if (context.nodes) parts.push(context.nodes.informer);
    if (this.#options.buffers) {
      const caches = createBufferCaches(context.client, { ...context, freeze: true });
      parts.push(caches.buffers, caches.templates, createBufferController(context, caches));
    }
    if (context.report) parts.push(createDisruptionController(context, context.report));
    this.#running.push(...parts.map((part) => part.run(signal)));
  }

  /**
   * Stops the manager at any point, and starts a new manager with empty caches. The new manager starts after all
   * requests of the old manager have reached the API server. In a cluster, a Lease ensures this order.
   */
  async restart(): Promise<void> {
    await this.stop();
    this.beforeRestart();
    this.#stopManager = new AbortController();
    this.context = this.#newContext();
    this.#manage();
  }

  async stop(): Promise<void> {
    this.#stopManager.abort(new Error('killed'));
    await this.clock.advance(1_000);
  }

  beforeRestart: () => void = () => undefined;

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopManager.abort(new Error('the test is over'));
    this.#stop.abort(new Error('the test is over'));
    await this.clock.advance(60_000);
    await Promise.all(this.#running);
    await (await this.#plane).close();
    if (this.problems.length > 0) throw new AggregateError(this.problems, 'the world broke');
    if (this.bound.unbound.size > 0)
      throw new Error(`writes that do not name what they were decided on: ${[...this.bound.unbound].join(', ')}`);
  }

  async pass(seconds: number): Promise<void> {
    await this.clock.advance(seconds * 1000);
  }

  async until(done: () => boolean | Promise<boolean>, seconds: number): Promise<number> {
    return this.clock.runUntil(done, { maxMs: seconds * 1000 });
  }

  async deploy(
    replicas: number,
    spec: Partial<MachineDeployment['spec']> = {},
    metadata: Partial<KubeObject['metadata']> = {},
  ): Promise<void> {
    const draft: Draft<MachineDeployment> = {
      metadata: { name: 'pool', ...metadata },
      spec: {
        replicas,
        selector: { matchLabels: { app: 'pool' } },
        template: { metadata: { labels: { app: 'pool' } }, spec: { class: { kind: 'MachineClass', name: 'small' } } },
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
        ...spec,
      },
    };
    await this.keeper.resource(machineDeployments, NAMESPACE).create(draft);
  }

  async createClass(name: string): Promise<void> {
    await this.keeper
      .resource(machineClasses, NAMESPACE)
      .create({ metadata: { name, namespace: NAMESPACE }, provider: 'none', providerSpec: {} } as Draft<MachineClass>);
  }

  async change(body: object): Promise<void> {
    await this.keeper.resource(machineDeployments, NAMESPACE).patch('pool', { type: 'merge', body });
  }

  changeClass(name: string): Promise<void> {
    return this.change({ spec: { template: { spec: { class: { name } } } } });
  }

  async setPhase(name: string, phase: string, more: object = {}): Promise<void> {
    await this.keeper
      .resource(machines, NAMESPACE)
      .patch(
        name,
        { type: 'merge', body: { status: { currentStatus: { phase }, ...more } } },
        { subresource: 'status' },
      );
  }

  async remove(): Promise<void> {
    await this.keeper.resource(machineDeployments, NAMESPACE).delete('pool');
  }

  async patchMachine(name: string, body: object): Promise<void> {
    await this.keeper.resource(machines, NAMESPACE).patch(name, { type: 'merge', body });
  }

  async addMachine(metadata: Draft<Machine>['metadata']): Promise<void> {
    const draft: Draft<Machine> = { metadata, spec: { class: { kind: 'MachineClass', name: 'small' } } };
    await this.keeper.resource(machines, NAMESPACE).create(draft);
  }

  readonly byHand = new Set<string>();

  async deleteMachine(name: string): Promise<void> {
    const machine = this.truth.store.get(`${NAMESPACE}/${name}`);
    if (machine) this.byHand.add(machine.metadata.uid);
    await this.keeper.resource(machines, NAMESPACE).delete(name);
  }

  available(): number {
    return this.context.machines.store
      .list()
      .filter((m) => m.status?.currentStatus?.phase === 'Running' && m.metadata.deletionTimestamp === undefined).length;
  }

  async deployment(): Promise<MachineDeployment> {
    return this.keeper.resource(machineDeployments, NAMESPACE).get('pool');
  }

  async sets(): Promise<readonly MachineSet[]> {
    return (await this.keeper.resource(machineSets, NAMESPACE).list()).items;
  }

  async machines(): Promise<readonly Machine[]> {
    return (await this.keeper.resource(machines, NAMESPACE).list()).items;
  }

  async nodes(): Promise<readonly Node[]> {
    return (await this.keeper.resource(nodes).list()).items;
  }

  async events(): Promise<readonly EventObject[]> {
    await this.context.recorder.flush();
    return (await this.keeper.resource(events, NAMESPACE).list()).items;
  }

  async sizes(): Promise<string> {
    const sets = await this.sets();
    return sets
      .map((set) => `${set.spec.template.spec.class.name}:${set.spec.replicas ?? 0}`)
      .sort()
      .join(' ');
  }

  /**
   * Returns true if the rollout is complete. Tests call `complete` often, so it reads the caches instead of the API
   * server.
   */
  complete(): boolean {
    const { deployments, machines: cache } = this.context;
    const deployment = deployments.store.get(`${NAMESPACE}/pool`);
    if (deployment === undefined) return false;
    const { spec, status, metadata } = deployment;
    const wanted = spec.replicas ?? 0;
    return (
      status?.observedGeneration === metadata.generation &&
      (status?.updatedReplicas ?? 0) === wanted &&
      (status?.replicas ?? 0) === wanted &&
      (status?.availableReplicas ?? 0) === wanted &&
      cache.store.size === wanted
    );
  }

  totalWrites(): number {
    return [...this.writes.values()].reduce((a, b) => a + b, 0);
  }

  readonly finalizer = FINALIZER;
}
