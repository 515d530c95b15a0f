import { crds, type Machine, machineClasses, machineDeployments, machineSets, machines } from '@mcm/api';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { buildMachineController, MACHINE_DEFAULTS } from '@mcm/core';
import {
  createClient,
  createMemoryLogger,
  createRecorder,
  type EventObject,
  events,
  handlerTransport,
  type KubeClient,
  type KubeObject,
  type MemoryLogger,
  namespaces,
  nodes,
  type OwnerReference,
  podDisruptionBudgets,
  pods,
  type Random,
  type ResourceDefinition,
  secrets,
  seededRandom,
  VirtualClock,
} from '@mcm/kube';
import { runManager } from '@mcm/machine-controller-manager';
import { type Action, type Step, updateReasonOf } from './actions.ts';
import { ScriptedCloud } from './cloud.ts';
import type { Recorded, State } from './recording.ts';

type Plane = Pick<ControlPlane, 'fetch' | 'close'>;
type Definition = ResourceDefinition<KubeObject>;

/** Kinds of the recordings, owners first. */
const KINDS = [
  secrets,
  machineClasses,
  machineDeployments,
  machineSets,
  machines,
  nodes,
  podDisruptionBudgets,
  pods,
] as unknown as readonly Definition[];
const NAMESPACE = 'bench';
/** How long a node's agent waits to be asked, in virtual milliseconds. */
const AGENT_PATIENCE_MS = 30_000;
const AGENT_LOOKS_EVERY_MS = 500;
/** Flags that the recorded processes had. */
const DEFAULTS = { ...MACHINE_DEFAULTS, healthTimeoutMs: 25_000, creationTimeoutMs: 45_000 };
const SERVER_SET = ['uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'];

const definitionOf = (kind: string): Definition => {
  const found = KINDS.find((definition) => definition.kind === kind);
  if (!found) throw new Error(`the recording has an object of kind ${kind}; known: ${KINDS.map((one) => one.kind)}`);
  return found;
};
const placeOf = (kind: string): number => KINDS.findIndex((definition) => definition.kind === kind);
const millis = (time: string | undefined): number => (time ? Date.parse(time) : 0);

/** A fresh plane on a virtual clock, the recordings' cloud, and our two controllers beside them. */
export class Stage {
  readonly clock: VirtualClock;
  readonly log: MemoryLogger = createMemoryLogger();
  readonly admin: KubeClient;
  readonly cloud: ScriptedCloud;
  /** Machines made since the controllers were started. */
  made = 0;
  readonly failures: string[] = [];
  readonly #plane: Plane;
  /** Instant of the recording's second 0. */
  readonly #zero: number;
  readonly #random: Random = seededRandom(1);
  readonly #stop = new AbortController();
  /** UIDs here by those of the recording, and names likewise. */
  readonly #uids = new Map<string, string>();
  readonly #names = new Map<string, string>();
  /** Machines that were recorded and not made here; each plays its own part. */
  readonly #loaded = new Set<string>();

  private constructor(clock: VirtualClock, plane: Plane, zero: number) {
    this.clock = clock;
    this.#plane = plane;
    this.#zero = zero;
    this.admin = createClient({ transport: handlerTransport(plane.fetch), userAgent: 'golden', clock });
    this.cloud = new ScriptedCloud(this.admin, clock);
  }

  /** An empty stage whose clock is that of the recording. */
  static async open(first: State): Promise<Stage> {
    const times = [...first.objects.values()].map(({ metadata }) => millis(metadata.creationTimestamp));
    const classes = [...first.objects.values()].filter(({ kind }) => kind !== 'Secret');
    const zero = Math.min(
      ...(classes.length > 0 ? classes.map((one) => millis(one.metadata.creationTimestamp)) : times),
    );
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
    stage = new Stage(clock, plane, zero);
    await stage.admin.resource(namespaces).create({ metadata: { name: NAMESPACE } });
    return stage;
  }

  /** Puts everything there as it was recorded, at the recorded instants. */
  async load({ objects, at }: State): Promise<void> {
    const inOrder = [...objects.values()].sort(
      (one, other) =>
        millis(one.metadata.creationTimestamp) - millis(other.metadata.creationTimestamp) ||
        placeOf(one.kind) - placeOf(other.kind),
    );
    for (const object of inOrder) {
      await this.#until(millis(object.metadata.creationTimestamp));
      await this.#create(object);
      const { name } = object.metadata;
      if (object.kind === 'Machine') this.#loaded.add(name);
      if (object.kind === 'Machine' && hasVm(object, objects)) this.cloud.vms.add(name);
    }
    await this.#settleOwners(inOrder);
    const leaving = inOrder.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    leaving.sort((one, other) => millis(one.metadata.deletionTimestamp) - millis(other.metadata.deletionTimestamp));
    for (const { kind, metadata } of leaving) {
      await this.#until(millis(metadata.deletionTimestamp));
      await this.#resource(kind).delete(metadata.name, { propagationPolicy: 'Background' });
    }
    await this.reach(at);
  }

  /** A machine that changed its set is older than its owner, which had no UID here yet when it was made. */
  async #settleOwners(objects: readonly Recorded[]): Promise<void> {
    for (const { kind, metadata } of objects) {
      const owners = metadata.ownerReferences ?? [];
      const late = owners.some(({ uid }) => {
        const owner = objects.find((other) => other.metadata.uid === uid);
        return owner && millis(owner.metadata.creationTimestamp) >= millis(metadata.creationTimestamp);
      });
      if (!late) continue;
      const ownerReferences = this.#ownersHere(owners);
      await this.#resource(kind).patch(metadata.name, { type: 'merge', body: { metadata: { ownerReferences } } });
    }
  }

  #ownersHere(owners: readonly OwnerReference[]): OwnerReference[] {
    return owners.map((owner) => ({ ...owner, uid: this.#uids.get(owner.uid) ?? owner.uid }));
  }

  /** Waits until a second of the recording. */
  async reach(at: number): Promise<void> {
    await this.#until(this.#zero + at * 1_000);
  }

  async #until(instant: number): Promise<void> {
    const ms = instant - this.clock.now().getTime();
    if (ms > 0) await this.clock.advance(ms);
  }

  #resource(kind: string) {
    const definition = definitionOf(kind);
    return definition.namespaced ? this.admin.resource(definition, NAMESPACE) : this.admin.resource(definition);
  }

  async #create(object: Recorded, withStatus = true): Promise<void> {
    const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([key]) => !SERVER_SET.includes(key)));
    const owners = object.metadata.ownerReferences;
    const draft = {
      ...object,
      metadata: { ...metadata, ...(owners ? { ownerReferences: this.#ownersHere(owners) } : {}) },
    };
    const resource = this.#resource(object.kind);
    const made = await resource.create(draft);
    this.#uids.set(object.metadata.uid, made.metadata.uid);
    if (withStatus && object.status !== undefined && !['Secret', 'MachineClass'].includes(object.kind))
      await resource.patch(
        made.metadata.name,
        { type: 'merge', body: { status: object.status } },
        { subresource: 'status' },
      );
  }

  /** Starts both controllers, as after a change of the binaries. */
  startControllers(): void {
    const { clock, log } = this;
    const client = (userAgent: string): KubeClient =>
      createClient({ transport: handlerTransport(this.#plane.fetch), userAgent, clock, random: this.#random });
    const runtime = { clock, random: this.#random, log, freeze: true };
    const manager = client('machine-controller-manager');
    const { signal } = this.#stop;
    const surroundings = { control: manager, target: manager, namespace: NAMESPACE, runtime };
    const ended = (error: unknown): void => {
      if (!signal.aborted) this.failures.push(`a controller ended by itself: ${String(error)}`);
    };
    void runManager(surroundings, {}, signal).ended.catch(ended);
    const control = client('machine-controller');
    const controller = buildMachineController({
      driver: this.cloud.driver,
      control,
      target: control,
      namespace: NAMESPACE,
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

  /** Does what was done from outside, when it was done. */
  async play(steps: readonly Step[]): Promise<void> {
    for (const { at, actions } of steps) {
      if (actions.length === 0) continue;
      await this.reach(at);
      for (const action of actions) await this.#act(action);
    }
  }

  async #act(action: Action): Promise<void> {
    if (action.do === 'create') {
      const { metadata } = action.object;
      const annotations = Object.entries(metadata.annotations ?? {}).filter(
        ([key]) => !key.startsWith('deployment.kubernetes.io/'),
      );
      // Those of the controllers; a user's own stay.
      const finalizers = (metadata.finalizers ?? []).filter((name) => !name.startsWith('machine.sapcloud.io/'));
      const asMade = { ...metadata, annotations: Object.fromEntries(annotations), finalizers };
      const draft: Recorded = { ...action.object, metadata: asMade };
      await this.#create(await this.#rename(draft), draft.kind === 'Pod');
      return;
    }
    if (action.do === 'merge' && action.awaits) await this.#castAgent(action.name, action.awaits);
    const name = action.kind === 'Machine' || action.kind === 'Node' ? await this.#nameOf(action.name) : action.name;
    const resource = this.#resource(action.kind);
    if (action.do === 'delete') await resource.delete(name, { propagationPolicy: 'Background' });
    else
      await resource.patch(
        name,
        { type: 'merge', body: (await this.#rename(action.body)) as object },
        action.status ? { subresource: 'status' } : {},
      );
  }

  /**
   * An agent speaks when its node was selected. Which of several equal nodes is selected is free, and so is the pace:
   * the node here that has come as far plays the part, and takes it over from the one that had it.
   */
  async #castAgent(recorded: string, reason: string): Promise<void> {
    for (let waited = 0; waited <= AGENT_PATIENCE_MS; waited += AGENT_LOOKS_EVERY_MS) {
      const own = await this.#nameOf(recorded);
      const { items } = await this.admin.resource(nodes).list();
      const ready = items.filter((node) => updateReasonOf(node as unknown as Recorded) === reason);
      const node = ready.find(({ metadata }) => metadata.name === own) ?? ready[0];
      if (node) {
        const other = [...this.#names].find(([, name]) => name === node.metadata.name)?.[0] ?? node.metadata.name;
        this.#names.set(other, own).set(recorded, node.metadata.name);
        return;
      }
      await this.clock.advance(AGENT_LOOKS_EVERY_MS);
    }
  }

  /** The machine here that plays the part of a recorded one. */
  async #nameOf(recorded: string): Promise<string> {
    const known = this.#names.get(recorded);
    if (known) return known;
    const living = await this.machines();
    const taken = new Set(this.#names.values());
    const prefix = recorded.replace(/[^-]+-[^-]+$/, '');
    const same = living.find(({ metadata: { name } }) => name === recorded && !taken.has(name));
    const found =
      same ??
      living.find(
        ({ metadata: { name, deletionTimestamp } }) =>
          name.startsWith(prefix) && !taken.has(name) && !this.#loaded.has(name) && deletionTimestamp === undefined,
      );
    const name = found?.metadata.name ?? recorded;
    this.#names.set(recorded, name);
    return name;
  }

  /** The same object with the names that machines have here. */
  async #rename<T>(object: T): Promise<T> {
    let text = JSON.stringify(object);
    for (const name of new Set(text.match(MACHINE_NAME) ?? [])) text = text.replaceAll(name, await this.#nameOf(name));
    return JSON.parse(text) as T;
  }

  async machines(): Promise<Machine[]> {
    return (await this.admin.resource<Machine>(machines, NAMESPACE).list()).items;
  }

  async events(): Promise<EventObject[]> {
    return (await this.admin.resource(events, NAMESPACE).list()).items;
  }

  /** UID here of a recorded object. */
  uidOf(recorded: KubeObject): string | undefined {
    return this.#uids.get(recorded.metadata.uid);
  }

  /** All objects of the recordings' kinds. */
  async objects(): Promise<KubeObject[]> {
    const lists = await Promise.all(
      KINDS.map(async (definition) => {
        const { items } = await this.#resource(definition.kind).list();
        return items.map((item) => ({ ...item, kind: definition.kind }));
      }),
    );
    return lists.flat();
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('closed'));
    await this.#plane.close();
  }
}

/** Names as sets give them: a hash of the template, and five characters. */
const MACHINE_NAME = /\b[a-z0-9-]+-[0-9a-f]{5}-[a-z0-9]{5}\b/g;

/** Steps of a deletion after which the VM is gone. */
const VM_GONE = /VM deletion was successful|[Nn]ode object deletion|finalizer removal/;

/** Whether the cloud held the VM of a machine in that state. */
function hasVm(machine: Recorded, objects: State['objects']): boolean {
  const { spec, status } = machine as {
    spec?: { providerID?: string };
    status?: { lastOperation?: { description?: string } };
  };
  const made = spec?.providerID !== undefined || objects.has(`Node/${machine.metadata.name}`);
  return made && !VM_GONE.test(status?.lastOperation?.description ?? '');
}
