import {
  Annotations,
  InPlaceUpdateReasons,
  Labels,
  type Machine,
  type MachineSet,
  Taints,
  UpdateResults,
} from '@mcm/api';
import type { Node } from '@mcm/kube';
import { rolloutRoom } from '../disruption/ledger.ts';
import { controllerReference } from '../set/claim.ts';
import { createdAt, isAvailable, isBeingHandedOver, isTerminating, phaseOf, updateReasonOf } from '../set/machines.ts';
import { type GrowthRule, grown } from './growth.ts';
import {
  beganFor,
  DECIDED_BY_DRAIN,
  isOutdated,
  leftoverOf,
  restarts,
  schedulable,
  selectedFor,
  startedFor,
} from './in-place-template.ts';
import type { NodeMark } from './node-marks.ts';
import { type Resize, type SetSize, sizeOf } from './size.ts';

/** A set with the machines that it controls. */
export interface StaffedSet {
  readonly set: MachineSet;
  readonly machines: readonly Machine[];
}

/** Everything that the decision about an in-place update looks at. */
export interface InPlaceSnapshot extends GrowthRule {
  readonly current: StaffedSet;
  /** Oldest first. */
  readonly old: readonly StaffedSet[];
  readonly surge: number;
  readonly unavailable: number;
  /** Places that it may yet take of the budget that it shares with repairs; absent: as many as its own bounds allow. */
  readonly free?: number;
  /** Failed machines wait for their repair: until they have been seen to, no node is selected. */
  readonly repairsFirst?: boolean;
  /** Machines are selected by somebody else. */
  readonly manual: boolean;
  readonly nodeOf: (name: string) => Node | undefined;
}

/** Writes to machines and nodes; each may be repeated without harm. */
export interface InPlaceWork {
  readonly machines: readonly { readonly machine: Machine; readonly body: object }[];
  readonly nodes: readonly NodeMark[];
  /** Nodes of the current template that were selected; told only to a server that knows of no newer template. */
  readonly leftovers?: readonly NodeMark[];
}

export const NO_WORK: InPlaceWork = { machines: [], nodes: [] };

/** One step of an in-place update. */
export interface InPlaceStep {
  readonly resize: Resize;
  readonly work: InPlaceWork;
  readonly because: string;
}

const replicasOf = ({ set }: StaffedSet): number => set.spec.replicas ?? 0;
const sum = (sets: readonly StaffedSet[]): number => sets.reduce((total, set) => total + replicasOf(set), 0);

/**
 * The next step (docs/rules.md §5.2 to 5.7). Each is computed from what is there, so that a death after any write is mended by
 * the next look: first sizes follow the machines that were moved, then machines move, then others are selected.
 */
export function planInPlaceUpdate(o: InPlaceSnapshot): InPlaceStep {
  const repair = repairSizes(o);
  if (repair.size > 0) return { resize: repair, work: NO_WORK, because: 'sizes follow the machines that were moved' };
  const tidy = tidyUp(o);
  const sizes = resizeCurrent(o);
  if (sizes) return { ...sizes, work: tidy };
  const again = startAgain(o);
  const moves = handOver(o);
  if (moves.length > 0) {
    return {
      resize: new Map(),
      work: { machines: [...tidy.machines, ...moves], nodes: [...tidy.nodes, ...again] },
      because: 'updated machines move',
    };
  }
  const left = o.old.filter((set) => replicasOf(set) > 0);
  if (left.length > 0 && replicasOf(o.current) === o.replicas) {
    return { resize: surplusGone(o, left), work: tidy, because: 'the current set has all replicas: the surplus goes' };
  }
  const selected = o.manual ? [] : select(o);
  return {
    resize: new Map(),
    work: { ...tidy, nodes: [...tidy.nodes, ...again, ...selected], leftovers: leftovers(o) },
    because: reason(o, left, selected.length),
  };
}

function reason(o: InPlaceSnapshot, left: readonly StaffedSet[], selected: number): string {
  if (left.length === 0) return 'no old machine is left';
  if (selected > 0) return `${selected} ${selected === 1 ? 'node is' : 'nodes are'} selected for an update`;
  return o.manual ? 'waiting: machines are selected by hand' : 'waiting: no further machine may be unavailable';
}

/** Machines that were moved in and that the set does not count yet. */
function movedIn({ set, machines }: StaffedSet): number {
  const alive = machines.filter((machine) => !isTerminating(machine));
  return Math.max(Math.min(alive.filter(isBeingHandedOver).length, alive.length - (set.spec.replicas ?? 0)), 0);
}

/**
 * A set that machines were moved to gets the size that it has, whatever its template has become since; the one they came
 * from does not make others in their place when one comes back to it before its size could follow.
 */
export function sizesOfMoved({ current, old }: Pick<InPlaceSnapshot, 'current' | 'old'>): Map<string, number> {
  const resize = new Map<string, number>();
  for (const one of [...old, current]) {
    if (movedIn(one) > 0) resize.set(one.set.metadata.name, replicasOf(one) + movedIn(one));
  }
  const away = old.reduce((total, one) => total + movedIn(one), 0);
  const left = Math.min(away, replicasOf(current) - current.machines.length);
  if (left > 0) resize.set(current.set.metadata.name, replicasOf(current) - left);
  return resize;
}

/** A set whose machines were moved away, or moved in, gets the size that it has (docs/rules.md §5.3). */
function repairSizes({ current, old }: InPlaceSnapshot): Map<string, number> {
  const resize = sizesOfMoved({ current, old });
  for (const { set, machines } of old) {
    if (set.metadata.labels?.[Labels.ScaleUpDisabled] === undefined) continue;
    if (machines.length < (set.spec.replicas ?? 0)) resize.set(set.metadata.name, machines.length);
  }
  return resize;
}

/** Nodes whose update was, or is, for a template that is not wanted any more, and what was selected by hand. */
function startAgain(o: InPlaceSnapshot): NodeMark[] {
  const { current, old } = o;
  const at = (machines: readonly Machine[], isOld: boolean) =>
    machines.flatMap((machine) => {
      const node = nodeOf(machine, o);
      if (!node || isTerminating(machine) || isBeingHandedOver(machine)) return [];
      const change = isOld ? startedFor(machine, node, current.set) : restarts(machine, node, current.set);
      return change ? [{ node, change }] : [];
    });
  return [...old.flatMap(({ machines }) => at(machines, true)), ...at(current.machines, false)];
}

/** Nodes that were selected though they have the current template. */
const leftovers = (o: InPlaceSnapshot): NodeMark[] =>
  o.current.machines.flatMap((machine) => {
    const node = isTerminating(machine) || isBeingHandedOver(machine) ? undefined : nodeOf(machine, o);
    const change = node && leftoverOf(machine, node);
    return change ? [{ node, change }] : [];
  });

/** Sizes of the current set that need no machine to move, and what a smaller deployment has too many (docs/rules.md §5.4). */
function resizeCurrent(o: InPlaceSnapshot): { resize: Resize; because: string } | undefined {
  const n = replicasOf(o.current);
  const left = sum(o.old);
  const { name } = o.current.set.metadata;
  if (n > o.replicas) return { resize: new Map([[name, o.replicas]]), because: 'fewer replicas are asked for' };
  const surplus = left + n - o.replicas - o.surge;
  if (surplus > 0) return { resize: shrunk(o.old, surplus), because: 'fewer replicas are asked for: old machines go' };
  if (n >= o.replicas || left + n >= o.replicas) return undefined;
  const resize = grown({ current: asSize(o.current), old: o.old.map(asSize) }, o.replicas - left - n, o);
  if (resize.size === 0) return undefined;
  const because = resize.has(name)
    ? 'machines are missing: the current set makes them'
    : 'machines are missing, and the newest template is not proven: the last good set makes them';
  return { resize, because };
}

const asSize = ({ set, machines }: StaffedSet): SetSize =>
  sizeOf(set, { replicas: machines.length, available: machines.filter(isAvailable).length });

/** Old machines that no place is left for go, as far as the current set's are available. */
function surplusGone(o: InPlaceSnapshot, left: readonly StaffedSet[]): Map<string, number> {
  const steady = ({ set, machines }: StaffedSet) =>
    Math.min(machines.filter(isAvailable).length, set.spec.replicas ?? 0);
  const available = [...left, o.current].reduce((total, one) => total + steady(one), 0);
  const idle = left.reduce((total, one) => total + replicasOf(one) - steady(one), 0);
  const surplus = o.repairsFirst ? 0 : rolloutRoom(available, o.replicas, o.unavailable);
  return shrunk(left, surplus + idle);
}

/** Takes so many replicas off the sets, the oldest set first. */
function shrunk(sets: readonly StaffedSet[], surplus: number): Map<string, number> {
  const resize = new Map<string, number>();
  let rest = surplus;
  for (const staffed of sets) {
    const take = Math.min(replicasOf(staffed), rest);
    if (take > 0) resize.set(staffed.set.metadata.name, replicasOf(staffed) - take);
    rest -= take;
  }
  return resize;
}

const nodeOf = (machine: Machine, o: InPlaceSnapshot): Node | undefined => {
  const name = machine.metadata.labels?.[Labels.Node];
  return name ? o.nodeOf(name) : undefined;
};

const isUpdated = (machine: Machine, node: Node): boolean =>
  node.metadata.labels?.[Labels.UpdateResult] === UpdateResults.Successful &&
  updateReasonOf(machine) === InPlaceUpdateReasons.UpdateSuccessful;

/** Machines that were updated change their set: owner and labels in one write, bound to what was seen (docs/rules.md §5.5). */
function handOver(o: InPlaceSnapshot): InPlaceWork['machines'] {
  const free = o.replicas - replicasOf(o.current);
  const moves = o.old.flatMap(({ set, machines }) => {
    // Without the label the set would replace what leaves it.
    if (set.metadata.labels?.[Labels.ScaleUpDisabled] === undefined) return [];
    return machines.flatMap((machine) => {
      const node = nodeOf(machine, o);
      const updated = node && isUpdated(machine, node) && !isOutdated(node, o.current.set);
      const ready = updated && phaseOf(machine) !== 'InPlaceUpdating';
      return ready && !isTerminating(machine) ? [{ machine, body: movePatch(machine, set, o.current.set) }] : [];
    });
  });
  return moves.slice(0, Math.max(free, 0));
}

/** Takes the former set's labels off and puts the new one's on; `null` removes. */
export function movePatch({ metadata }: Machine, from: MachineSet, to: MachineSet): object {
  const off = Object.keys(from.spec.selector?.matchLabels ?? {}).map((key) => [key, null] as const);
  return {
    metadata: {
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      ownerReferences: [
        ...(metadata.ownerReferences ?? []).filter(({ controller }) => controller !== true),
        controllerReference(to),
      ],
      labels: {
        ...Object.fromEntries(off),
        ...to.spec.selector?.matchLabels,
        [Labels.UpdateResult]: UpdateResults.Successful,
      },
    },
  };
}

/** Machines that were moved and that their set counts, whose nodes take part in the next update like any other's. */
const counted = ({ set, machines }: StaffedSet): Machine[] => {
  const alive = machines.filter((machine) => !isTerminating(machine));
  return alive.length <= (set.spec.replicas ?? 0) ? alive.filter(isBeingHandedOver) : [];
};

/**
 * What is left of an update once the machine's set counts it (docs/rules.md §5.3), be it that the set is an old one by now. A node
 * that is missing is left out.
 */
function tidyUp(o: InPlaceSnapshot): InPlaceWork {
  const { machines, set } = o.current;
  const alive = machines.filter((machine) => !isTerminating(machine));
  return {
    machines: [o.current, ...o.old].flatMap(counted).map((machine) => ({
      machine,
      body: { metadata: { uid: machine.metadata.uid, labels: { [Labels.UpdateResult]: null } } },
    })),
    nodes: alive.flatMap((machine) => {
      const node = nodeOf(machine, o);
      const updated = node && isUpdated(machine, node) && !isOutdated(node, set);
      return updated ? [{ node, change: cleaned(node) }] : [];
    }),
  };
}

/** The node takes pods again, once its critical components are there; one write. */
export function cleaned(node: Node): NodeMark['change'] {
  const { PreferNoSchedule: prefer, CriticalComponentsNotReady: critical } = Taints;
  const others = (node.spec.taints ?? []).filter(
    ({ key, effect }) =>
      !(key === prefer.key && effect === prefer.effect) && !(key === critical.key && effect === critical.effect),
  );
  return {
    metadata: {
      labels: {
        [Labels.CandidateForUpdate]: null,
        [Labels.SelectedForUpdate]: null,
        [Labels.UpdateResult]: null,
      },
      annotations: { [Annotations.UpdateFailedReason]: null, [Annotations.SelectedForTemplate]: null },
    },
    spec: { ...schedulable(node), taints: [...others, { ...critical }] },
    decidedBy: DECIDED_BY_DRAIN,
  };
}

/**
 * Nodes to select (docs/rules.md §5.6, 5.7): as many as may be unavailable beside those that are. A selected machine that is not
 * available any more counts once; the original counts it twice and so stays below what it is allowed.
 */
function select(o: InPlaceSnapshot): NodeMark[] {
  const { replicas, unavailable, current, old } = o;
  const marked = (machine: Machine, key: string) => nodeOf(machine, o)?.metadata.labels?.[key] !== undefined;
  const selected = (machine: Machine) => marked(machine, Labels.SelectedForUpdate);
  const undergoing = old.flatMap(({ machines }) => machines.filter(selected)).length;
  const began = (machine: Machine) => {
    const node = nodeOf(machine, o);
    return node !== undefined && beganFor(node, current.set);
  };
  const first = [...old, current].flatMap(({ machines }) =>
    machines.flatMap((machine) => {
      const node = nodeOf(machine, o);
      const waits = node && !isTerminating(machine) && began(machine);
      const told = updateReasonOf(machine) === InPlaceUpdateReasons.CandidateForUpdate;
      return waits && told ? [{ node, change: selectedFor(current.set) }] : [];
    }),
  );
  // These are empty and cordoned already: they go first, and cost nothing more.
  if (first.length > 0 || o.repairsFirst) return o.repairsFirst ? [] : first.slice(0, o.free ?? first.length);
  const n = replicasOf(current);
  const minAvailable = replicas - unavailable;
  const newUnavailable = Math.max(0, n - current.machines.filter(isAvailable).length);
  if (undergoing + n >= replicas) return [];
  if (sum(old) + n - minAvailable - newUnavailable - undergoing <= 0) return [];
  // Machines above their set's size are on their way out, whichever they are.
  const steady = [current, ...old].reduce((total, one) => {
    const available = one.machines.filter((machine) => isAvailable(machine) && !began(machine));
    const taken = one === current ? 0 : available.filter(selected).length;
    return total + Math.max(Math.min(available.length, replicasOf(one)) - taken, 0);
  }, 0);
  const most = Math.min(replicas, o.ceiling ?? replicas);
  let quota = Math.min(rolloutRoom(steady, replicas, unavailable), most - n - undergoing);
  const marks: NodeMark[] = [];
  for (const { machines } of old.toSorted((a, b) => createdAt(a.set) - createdAt(b.set))) {
    for (const machine of machines) {
      const node = nodeOf(machine, o);
      if (quota <= 0) return marks;
      if (!node || isTerminating(machine) || !marked(machine, Labels.CandidateForUpdate) || selected(machine)) continue;
      if (began(machine)) continue;
      marks.push({ node, change: selectedFor(current.set) });
      quota -= 1;
    }
  }
  return marks;
}
