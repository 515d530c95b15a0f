import {
  Annotations,
  formatTime,
  InPlaceUpdateReasons,
  Labels,
  type Machine,
  type MachineDeployment,
  type MachinePhase,
  type MachineSet,
  NodeConditions,
  TRUE_LOWER,
  UpdateResults,
} from '@mcm/api';
import type { Draft, Node } from '@mcm/kube';
import { isRecord, withoutUndefined } from '@mcm/kube';
import type { NodeChange } from '../node/patch.ts';
import { powerOf } from '../warm/warm-machine.ts';
import { SimulatedFleet } from './fleet.ts';
import { Timers } from './timers.ts';

/** The assumed durations of actions in milliseconds. The assumed duration Infinity means that an action never ends. */
export interface SimulatedDurations {
  readonly join: (machine: Machine) => number;
  /**
   * Returns the time between the deletion request and the end of the deletion, including the drain and the deletion of
   * the VM.
   */
  readonly gone: (machine: Machine) => number;
  /**
   * For a machine that the undrainable policy keeps, returns the time between the deletion request and the end of the
   * drain timeout.
   */
  readonly undrained?: (machine: Machine) => number | undefined;
  readonly update: (machine: Machine) => number;
  /** Returns the time until a warm machine is Running, after a set uses the machine. */
  readonly start?: (machine: Machine) => number;
  /** Returns the time until the VM of a warm machine is stopped. */
  readonly stop?: (machine: Machine) => number;
}

export class SimulatedWorld {
  deployment: MachineDeployment;
  sets: MachineSet[];
  nowMs: number;
  readonly #machines = new SimulatedFleet();
  readonly #nodes: Map<string, Node> | undefined;
  readonly #durations: SimulatedDurations;
  readonly #timers = new Timers();
  #uids = 0;

  constructor(
    start: {
      readonly deployment: MachineDeployment;
      readonly sets: readonly MachineSet[];
      readonly machines: readonly Machine[];
      readonly nodes: readonly Node[] | undefined;
      readonly now: Date;
    },
    durations: SimulatedDurations,
  ) {
    this.deployment = start.deployment;
    this.sets = [...start.sets];
    this.nowMs = start.now.getTime();
    this.#nodes = start.nodes && new Map(start.nodes.map((node) => [node.metadata.name, node]));
    this.#durations = durations;
    for (const machine of start.machines) this.#takeOver(machine);
  }

  get now(): Date {
    return new Date(this.nowMs);
  }

  get machines(): Pick<SimulatedFleet, 'all' | 'size' | 'available' | 'on'> {
    return this.#machines;
  }

  machinesOf(set: MachineSet): readonly Machine[] {
    return this.#machines.of(set.metadata.uid);
  }

  get nodeOf(): ((name: string) => Node | undefined) | undefined {
    const nodes = this.#nodes;
    return nodes && ((name) => nodes.get(name));
  }

  get nodes(): readonly Node[] | undefined {
    return this.#nodes && [...this.#nodes.values()];
  }

  nodeOfMachine({ metadata }: Machine): Node | undefined {
    return this.#nodes?.get(metadata.labels?.[Labels.Node] ?? '');
  }

  #takeOver(machine: Machine): void {
    this.#machines.put(machine);
    const phase = machine.status?.currentStatus?.phase;
    if (machine.metadata.deletionTimestamp !== undefined || phase === 'Terminating') this.#bury(machine);
    else if (phase === undefined || (phase as string) === '' || phase === 'Pending')
      this.#raise(machine, powerOf(machine) === undefined ? undefined : this.#startMs(machine));
    else if (this.#isSelected(this.nodeOfMachine(machine))) this.#update(machine);
  }

  #isSelected(node: Node | undefined): boolean {
    const { labels = {} } = node?.metadata ?? {};
    return labels[Labels.SelectedForUpdate] !== undefined && labels[Labels.UpdateResult] === undefined;
  }

  createSet(draft: Draft<MachineSet>): MachineSet {
    const set = { ...draft, metadata: { ...draft.metadata, ...this.#born() } } as MachineSet;
    this.sets.push(set);
    return set;
  }

  create(draft: Draft<Machine>): Machine {
    const machine = { ...draft, metadata: { ...draft.metadata, ...this.#born() } } as Machine;
    this.#machines.put(machine);
    this.#raise(machine);
    return machine;
  }

  /** Gives a warm machine to a set. */
  use(warm: Machine, draft: Draft<Machine>): void {
    const { uid, creationTimestamp, labels: former, annotations: noted } = warm.metadata;
    const node = former?.[Labels.Node];
    const labels = { ...draft.metadata.labels, ...withoutUndefined({ [Labels.Node]: node }) };
    const kept = [Annotations.HooksBegun, Annotations.WarmPower].flatMap((key) => {
      const text = noted?.[key];
      return text === undefined ? [] : [[key, text] as const];
    });
    const annotations = { ...draft.metadata.annotations, ...Object.fromEntries(kept) };
    const metadata = { ...draft.metadata, uid, creationTimestamp, resourceVersion: '1', labels, annotations };
    const currentStatus = { phase: 'Pending', lastUpdateTime: formatTime(this.now) };
    const machine = { ...draft, metadata, status: { currentStatus } } as Machine;
    this.#machines.put(machine);
    this.#raise(machine, this.#startMs(machine));
  }

  #startMs(machine: Machine): number {
    return this.#durations.start?.(machine) ?? this.#durations.join(machine);
  }

  #born() {
    return { uid: `simulated-${this.#uids++}`, creationTimestamp: formatTime(this.now), resourceVersion: '1' };
  }

  delete(machine: Machine): void {
    this.#machines.put({ ...machine, metadata: { ...machine.metadata, deletionTimestamp: formatTime(this.now) } });
    this.#bury(machine);
  }

  #bury(machine: Machine): void {
    const { uid } = machine.metadata;
    const undrainedMs = this.#durations.undrained?.(machine);
    if (undrainedMs !== undefined) {
      const annotations = { [Annotations.Undrained]: 'Hold' };
      this.after(undrainedMs, () => this.patchMachine(machine, { metadata: { annotations } }));
    }
    this.after(this.#durations.gone(machine), () => {
      this.#machines.delete(uid);
      this.#nodes?.delete(machine.metadata.labels?.[Labels.Node] ?? '');
    });
  }

  #raise(machine: Machine, readyMs = this.#durations.join(machine)): void {
    const { name, uid } = machine.metadata;
    this.after(readyMs, () => {
      const born = this.#machines.get(uid);
      if (born === undefined || born.metadata.deletionTimestamp !== undefined) return;
      const labels = { ...born.metadata.labels, [Labels.Node]: born.metadata.labels?.[Labels.Node] ?? name };
      const isConfigured = born.metadata.annotations?.[Annotations.TemplateConfig] !== undefined;
      const applied = isConfigured ? { [Annotations.ConfigApplied]: TRUE_LOWER } : {};
      const annotations = { ...born.metadata.annotations, ...applied };
      this.#machines.put({ ...born, metadata: { ...born.metadata, labels, annotations } });
      const node = labels[Labels.Node] ?? name;
      const metadata = { name: node, labels: {}, ...this.#born() };
      if (this.#nodes?.has(node) === false)
        this.#nodes.set(node, { apiVersion: 'v1', kind: 'Node', metadata, spec: {} });
      this.#setPhase(uid, 'Running');
    });
  }

  /** The agent of a simulated in-place update always succeeds. */
  #update(machine: Machine): void {
    const { uid } = machine.metadata;
    this.#setPhase(uid, 'InPlaceUpdating', InPlaceUpdateReasons.SelectedForUpdate);
    this.after(this.#durations.update(machine), () => {
      const updated = this.#machines.get(uid);
      const node = updated && this.nodeOfMachine(updated);
      if (!updated || !node || updated.metadata.deletionTimestamp !== undefined) return;
      this.#putNode(node, { metadata: { labels: { [Labels.UpdateResult]: UpdateResults.Successful } } });
      this.#setPhase(uid, 'InPlaceUpdateSuccessful', InPlaceUpdateReasons.UpdateSuccessful);
    });
  }

  #setPhase(uid: string, phase: MachinePhase, updateReason?: string): void {
    const machine = this.#machines.get(uid);
    if (!machine) return;
    const type = NodeConditions.InPlaceUpdate;
    const others = (machine.status?.conditions ?? []).filter((condition) => condition.type !== type);
    const reported = updateReason === undefined ? [] : [{ type, status: 'True', reason: updateReason }];
    const currentStatus = { phase, lastUpdateTime: formatTime(this.now) };
    const status = { ...machine.status, currentStatus, conditions: [...others, ...reported] } as Machine['status'];
    this.#machines.put({ ...machine, ...withoutUndefined({ status }) });
  }

  patchMachine({ metadata: { uid } }: Machine, body: object): void {
    const machine = this.#machines.get(uid);
    if (!machine) return;
    const { resourceVersion: _, ...metadata } = machine.metadata;
    const { metadata: patched } = merged({ metadata }, body) as Pick<Machine, 'metadata'>;
    this.#machines.put({ ...machine, metadata: { ...patched, resourceVersion: '1' } });
  }

  /** If the change starts or ends an in-place update, the machine of the Node changes, too. */
  changeNode(seen: Node, change: NodeChange): void {
    const node = this.#nodes?.get(seen.metadata.name);
    if (!node) return;
    const before = this.#isSelected(node);
    const after = this.#putNode(node, change);
    const machine = this.#machines.on(node.metadata.name);
    if (!machine) return;
    if (!before && this.#isSelected(after)) this.#update(machine);
    const had = node.metadata.labels?.[Labels.UpdateResult] !== undefined;
    if (had && after.metadata.labels?.[Labels.UpdateResult] === undefined) {
      const waits = after.metadata.labels?.[Labels.CandidateForUpdate] !== undefined;
      this.#setPhase(machine.metadata.uid, 'Running', waits ? InPlaceUpdateReasons.CandidateForUpdate : undefined);
    }
  }

  #putNode(node: Node, { metadata = {}, spec }: NodeChange): Node {
    const { labels, annotations } = metadata;
    const changed = merged(node, { metadata: withoutUndefined({ labels, annotations }) });
    const { taints, unschedulable } = spec ?? {};
    const next = {
      ...node,
      metadata: (changed as Node).metadata,
      spec: {
        ...node.spec,
        ...withoutUndefined({ taints: taints === undefined ? undefined : [...(taints ?? [])], unschedulable }),
      },
    };
    this.#nodes?.set(node.metadata.name, next);
    return next;
  }

  annotate(annotations: Readonly<Record<string, string>>): void {
    const { metadata } = this.deployment;
    const all = { ...metadata.annotations, ...annotations };
    this.deployment = { ...this.deployment, metadata: { ...metadata, annotations: all } };
  }

  pause(note: string): void {
    this.annotate({ [Annotations.RolloutPausedBy]: note });
    this.deployment = { ...this.deployment, spec: { ...this.deployment.spec, paused: true } };
  }

  after(ms: number, act: () => void): void {
    this.#timers.at(this.nowMs + Math.max(ms, 0), act);
  }

  /**
   * Moves the time to the next scheduled action or to `lookAt`. Returns false if no action is scheduled and `lookAt` is
   * undefined.
   */
  advance(lookAt: Date | undefined): boolean {
    const looks = lookAt === undefined ? Number.POSITIVE_INFINITY : Math.max(lookAt.getTime(), this.nowMs + 1_000);
    const next = Math.min(looks, this.#timers.next);
    if (!Number.isFinite(next)) return false;
    this.nowMs = next;
    this.#timers.run(next);
    return true;
  }
}

/** Applies a JSON merge patch (RFC 7386) and returns the result. */
export function merged(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}
