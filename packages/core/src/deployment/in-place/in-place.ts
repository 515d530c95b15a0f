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
import { rolloutRoom } from '../../disruption/budget.ts';
import { controllerReference } from '../../objects/claim.ts';
import {
  createdAt,
  isAvailable,
  isBeingHandedOver,
  isTerminating,
  phaseOf,
  updateReasonOf,
} from '../../objects/machines.ts';
import {
  type InPlaceSnapshot,
  type InPlaceWork,
  isSelected,
  NO_WORK,
  nodeOf,
  replicasOf,
  replicasOfAll,
  type SetWithMachines,
} from '../state/in-place-snapshot.ts';
import type { NodeMark } from '../state/node-marks.ts';
import type { Resize } from '../state/size.ts';
import {
  intoSurge,
  keptAboveZero,
  mayNotRefill,
  repairSizes,
  resizeCurrent,
  roomOf,
  surplusGone,
} from './in-place-sizes.ts';
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

/** One step of an in-place update. */
export interface InPlaceStep {
  readonly resize: Resize;
  readonly work: InPlaceWork;
  readonly because: string;
}

/**
 * The next step (docs/compatibility/rules-deployments.md §5.2 to 5.7). Each is computed from what is there, so that a death after any write is mended by
 * the next look: first sizes follow the machines that were moved, then machines move, then others are selected.
 */
export function planInPlaceUpdate(o: InPlaceSnapshot): InPlaceStep {
  const repair = repairSizes(o);
  if (repair.size > 0) {
    const resize = keptAboveZero(o, repair);
    return { resize, work: NO_WORK, because: 'sizes follow the machines that were moved or are gone' };
  }
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
    const nodes = [...tidy.nodes, ...again, ...(o.manual ? [] : selectedAgain(o))];
    const because = 'the current set has all replicas: the surplus goes';
    return { resize: surplusGone(o, left), work: { ...tidy, nodes }, because };
  }
  const selected = o.manual ? [] : select(o);
  const spare = selected.length > 0 || again.length > 0 ? new Map() : intoSurge(o);
  if (spare.size > 0) {
    return { resize: spare, work: tidy, because: 'no machine may be unavailable: the current set makes the surge' };
  }
  return {
    resize: new Map(),
    work: { ...tidy, nodes: [...tidy.nodes, ...again, ...selected], leftovers: leftovers(o) },
    because: reason(o, left, selected.length),
  };
}

function reason(o: InPlaceSnapshot, left: readonly SetWithMachines[], selected: number): string {
  if (left.length === 0) return 'no old machine is left';
  if (selected > 0) return `${selected} ${selected === 1 ? 'node is' : 'nodes are'} selected for an update`;
  return o.manual ? 'waiting: machines are selected by hand' : 'waiting: no further machine may be unavailable';
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

const isUpdated = (machine: Machine, node: Node): boolean =>
  node.metadata.labels?.[Labels.UpdateResult] === UpdateResults.Successful &&
  updateReasonOf(machine) === InPlaceUpdateReasons.UpdateSuccessful;

/** Machines that were updated change their set: owner and labels in one write, bound to what was seen (docs/compatibility/rules-deployments.md §5.5). */
function handOver(o: InPlaceSnapshot): InPlaceWork['machines'] {
  const free = o.replicas - replicasOf(o.current);
  const moves = o.old.flatMap(({ set, machines }) => {
    // Without the label the set would replace what leaves it.
    if (!mayNotRefill({ set, machines })) return [];
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

/**
 * Machines that were moved and that their set counts, or that the deployment has no place for: their nodes take part in the
 * next update like any other's, and their set may give them up.
 */
const settledMoves =
  (o: InPlaceSnapshot) =>
  (one: SetWithMachines): Machine[] => {
    const alive = one.machines.filter((machine) => !isTerminating(machine));
    return alive.length <= replicasOf(one) || roomOf(o) <= 0 ? alive.filter(isBeingHandedOver) : [];
  };

/**
 * What is left of an update once the machine's set counts it (docs/compatibility/rules-deployments.md §5.3), be it that the set is an old one by now. A node
 * that is missing is left out.
 */
function tidyUp(o: InPlaceSnapshot): InPlaceWork {
  const { machines, set } = o.current;
  const alive = machines.filter((machine) => !isTerminating(machine));
  return {
    machines: [o.current, ...o.old].flatMap(settledMoves(o)).map((machine) => ({
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

const wasEmptied = (machine: Machine, o: InPlaceSnapshot): boolean => {
  const node = nodeOf(machine, o);
  return node !== undefined && beganFor(node, o.current.set);
};

/**
 * Nodes whose update to another template has ended, to be selected for the current one. They are empty and cordoned
 * already: they go first, and cost nothing more.
 */
function selectedAgain(o: InPlaceSnapshot): NodeMark[] {
  const { current, old } = o;
  const first = [...old, current].flatMap(({ machines }) =>
    machines.flatMap((machine) => {
      const node = nodeOf(machine, o);
      const waits = node && !isTerminating(machine) && wasEmptied(machine, o);
      const told = updateReasonOf(machine) === InPlaceUpdateReasons.CandidateForUpdate;
      return waits && told ? [{ node, change: selectedFor(current.set) }] : [];
    }),
  );
  return o.repairsFirst ? [] : first.slice(0, o.free ?? first.length);
}

/**
 * Nodes to select (docs/compatibility/rules-deployments.md §5.6, 5.7): as many as may be unavailable beside those that are. A selected machine that is not
 * available any more counts once; the original counts it twice and so stays below what it is allowed.
 */
function select(o: InPlaceSnapshot): NodeMark[] {
  const { replicas, unavailable, current, old } = o;
  const marked = (machine: Machine, key: string) => nodeOf(machine, o)?.metadata.labels?.[key] !== undefined;
  const selected = (machine: Machine) => isSelected(machine, o);
  const undergoing = old.flatMap(({ machines }) => machines.filter(selected)).length;
  const began = (machine: Machine) => wasEmptied(machine, o);
  const first = selectedAgain(o);
  if (first.length > 0 || o.repairsFirst) return first;
  const n = replicasOf(current);
  const minAvailable = replicas - unavailable;
  const newUnavailable = Math.max(0, n - current.machines.filter(isAvailable).length);
  if (replicasOfAll(old) + n - minAvailable - newUnavailable - undergoing <= 0) return [];
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
