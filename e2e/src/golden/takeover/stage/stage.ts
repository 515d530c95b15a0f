import { crds, type Machine, machines } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { buildMachineController, MACHINE_DEFAULTS } from '@mcm/core';
import {
  createClient,
  createMemoryLogger,
  createRecorder,
  type EventObject,
  events,
  type KubeClient,
  type KubeObject,
  type MemoryLogger,
  namespaces,
  type Random,
  seededRandom,
  VirtualClock,
} from '@mcm/kube';
import { runManager } from '@mcm/machine-controller-manager';
import { INSTANT, type Pace, ScriptedCloud } from '../recordings/cloud.ts';
import { definitionOf, EVENTS, KINDS } from '../recordings/kinds.ts';
import { type Lens, Observer, PLAIN } from '../recordings/object-states.ts';
import type { History, Recorded, State } from '../recordings/recording.ts';

type Plane = Pick<ControlPlane, 'transport' | 'close'>;

export const DEFAULTS = { ...MACHINE_DEFAULTS, healthTimeoutMs: 25_000, creationTimeoutMs: 45_000 };

export const millis = (time: string | undefined): number => (time ? Date.parse(time) : 0);

export interface StageOptions {
  readonly pace?: Pace;
  readonly lens?: Lens;
}

export class Stage {
  readonly clock: VirtualClock;
  readonly log: MemoryLogger = createMemoryLogger();
  readonly admin: KubeClient;
  readonly cloud: ScriptedCloud;
  readonly observer: Observer;
  readonly namespace: string;
  made = 0;
  readonly failures: string[] = [];
  readonly #plane: Plane;
  readonly #zero: number;
  #lateMs = 0;
  readonly #random: Random = seededRandom(1);
  readonly #stop = new AbortController();
  readonly #namespaces = new Set<string>();

  readonly #lens: Lens;

  private constructor(clock: VirtualClock, plane: Plane, zero: number, namespace: string, options: StageOptions) {
    const { pace = INSTANT, lens = PLAIN } = options;
    this.#lens = lens;
    this.clock = clock;
    this.#plane = plane;
    this.#zero = zero;
    this.namespace = namespace;
    this.admin = createClient({ transport: plane.transport, userAgent: 'golden', clock });
    const onFailure = this.#fails('the cloud failed');
    this.cloud = new ScriptedCloud({ admin: this.admin, clock, pace, onFailure });
    this.observer = new Observer(() => (clock.now().getTime() - zero) / 1_000, lens);
  }

  static async open({ states, namespace }: History, options: StageOptions = {}): Promise<Stage> {
    const zero = beginningOf(states[0]);
    const clock = new VirtualClock({ start: new Date(zero - 1_000) });
    const random = seededRandom(2);
    let stage: Stage | undefined;
    const plane = await startControlPlane({
      clock,
      random: () => random.next(),
      crds,
      controllers: false,
      requestLog: ({ verb, resource, code, userAgent }) => {
        if (stage && verb === 'create' && resource === 'machines' && code === 201 && !userAgent.startsWith('golden'))
          stage.made += 1;
      },
    });
    stage = new Stage(clock, plane, zero, namespace, options);
    await stage.needNamespace(namespace);
    stage.#observe();
    return stage;
  }

  #observe(): void {
    const { admin, clock, log } = this;
    const tools = { clock, log, signal: this.#stop.signal };
    for (const kind of [...KINDS, EVENTS])
      void this.observer.watch(admin, kind, tools).catch(this.#fails('watching failed'));
  }

  #fails(what: string): (error: unknown) => void {
    return (error) => {
      if (!this.#stop.signal.aborted) this.failures.push(`${what}: ${String(error)}`);
    };
  }

  async needNamespace(name: string): Promise<void> {
    if (this.#namespaces.has(name)) return;
    this.#namespaces.add(name);
    const { items } = await this.admin.resource(namespaces).list();
    if (!items.some(({ metadata }) => metadata.name === name))
      await this.admin.resource(namespaces).create({ metadata: { name } });
  }

  resource(kind: string, namespace: string = this.namespace) {
    const definition = definitionOf(kind);
    return definition.namespaced ? this.admin.resource(definition, namespace) : this.admin.resource(definition);
  }

  instantOf(at: number): number {
    return this.#zero + at * 1_000 + this.#lateMs;
  }

  async reach(at: number): Promise<void> {
    this.#lateMs += Math.max(this.clock.now().getTime() - this.instantOf(at), 0);
    await this.until(this.instantOf(at));
  }

  async until(instant: number): Promise<void> {
    const ms = instant - this.clock.now().getTime();
    if (ms > 0) await this.clock.advance(ms);
  }

  get seconds(): number {
    return (this.clock.now().getTime() - this.#zero) / 1_000;
  }

  /** Starts both controllers, as an upgrade of the programs does. */
  startControllers(): void {
    const { clock, log, namespace } = this;
    const client = (userAgent: string): KubeClient =>
      createClient({ transport: this.#plane.transport, userAgent, clock, random: this.#random });
    const runtime = { clock, random: this.#random, log, freeze: true };
    const manager = client('machine-controller-manager');
    const { signal } = this.#stop;
    const environment = { control: manager, target: manager, namespace, runtime };
    const ended = this.#fails('a controller ended unexpectedly');
    void runManager(environment, {}, signal).ended.catch(ended);
    const control = client('machine-controller');
    const controller = buildMachineController({
      driver: this.cloud.driver,
      control,
      target: control,
      namespace,
      clock,
      random: this.#random,
      secretRandom: this.#random,
      log,
      recorder: createRecorder({ client: control, component: 'machine-controller', clock, log }),
      runtime,
      defaults: DEFAULTS,
    });
    void controller.run(signal).catch(ended);
  }

  async machines(): Promise<Machine[]> {
    const { items } = await this.admin.resource<Machine>(machines, this.namespace).list();
    return items.flatMap((machine) => (this.#lens({ ...machine, kind: 'Machine' }) as Machine | undefined) ?? []);
  }

  async events(): Promise<EventObject[]> {
    const { items } = await this.admin.resource(events).list();
    return items.flatMap((event) => (this.#lens({ ...event, kind: 'Event' }) as EventObject | undefined) ?? []);
  }

  async objects(): Promise<KubeObject[]> {
    const lists = await Promise.all(
      KINDS.map(async (definition) => {
        const { items } = await this.admin.resource(definition).list();
        return items.flatMap((item) => this.#lens({ ...item, kind: definition.kind }) ?? []);
      }),
    );
    return lists.flat();
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('closed'));
    await this.#plane.close();
  }
}

function beginningOf(first: State | undefined): number {
  const objects: readonly Recorded[] = [...(first?.objects.values() ?? [])];
  const made = objects.filter(({ kind }) => kind !== 'Secret');
  const times = (made.length > 0 ? made : objects).map(({ metadata }) => millis(metadata.creationTimestamp));
  return Math.min(...times);
}
