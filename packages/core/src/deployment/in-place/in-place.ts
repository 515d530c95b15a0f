import {
  Annotations,
  InPlaceUpdateReasons,
  Labels,
  type Machine,
  type MachineSet,
  phaseOf,
  Taints,
  UpdateResults,
} from '@mcm/api';
import type { Node } from '@mcm/kube';
import { rolloutRoom } from '../../disruption/budget.ts';
import { controllerReference } from '../../objects/claim.ts';
import { createdAt, isAvailable, isBeingHandedOver, isTerminating, updateReasonOf } from '../../objects/machines.ts';
import { zonePlaces } from '../../zones/ranks.ts';
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
import { intoSurge, keptAboveZero, mayNotRefill, repairSizes, resizeCurrent, surplusGone } from './in-place-sizes.ts';
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

export interface InPlaceStep {
  readonly resize: Resize;
  readonly work: InPlaceWork;
  readonly because: string;
}

/**
 * Returns the next step of the in-place updates of a deployment (docs/compatibility/rules-deployments.md §5.2 to 5.7).
 * The step depends only on the observed state, so a reconcile after a crash returns the same step.
 */
export function planInPlaceUpdate(o: InPlaceSnapshot): InPlaceStep {
  const repair = repairSizes(o);
  if (repair.size > 0) {
    const resize = keptAboveZero(o, repair);
    return {
      resize,
      work: NO_WORK,
      because: 'setting spec.replicas of each MachineSet to its current number of machines',
    };
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
      because: 'moving updated machines to the current set',
    };
  }
  const left = o.old.filter((set) => replicasOf(set) > 0);
  // Surplus machines stay until the nodes of updated machines are schedulable, because pods need schedulable nodes.
  if (left.length > 0 && replicasOf(o.current) === o.replicas && !o.stopped && tidy.nodes.length === 0) {
    const nodes = [...tidy.nodes, ...again, ...(o.manual ? [] : selectedAgain(o))];
    const because = 'the current set has all replicas: deleting surplus machines';
    return { resize: surplusGone(o, left), work: { ...tidy, nodes }, because };
  }
  const selected = o.manual ? [] : select(o);
  const spare = selected.length > 0 || again.length > 0 ? new Map() : intoSurge(o);
  if (spare.size > 0) {
    return {
      resize: spare,
      work: tidy,
      because: 'no machine may be unavailable: the current set creates surge machines',
    };
  }
  return {
    resize: new Map(),
    work: { ...tidy, nodes: [...tidy.nodes, ...again, ...selected], leftovers: leftovers(o) },
    because: reason(o, left, selected.length),
  };
}

function reason(o: InPlaceSnapshot, left: readonly SetWithMachines[], selected: number): string {
  if (left.length === 0) return 'no old machine remains';
  if (selected > 0) return `${selected} ${selected === 1 ? 'node is' : 'nodes are'} selected for an update`;
  if (o.stopped) return `waiting: an in-place update failed, and ${Annotations.RolloutOnCannotUpdateInPlace} is Stop`;
  if (o.manual) return 'waiting: a user must select nodes';
  const isLimited = o.zones?.setting.maxUnavailable !== undefined;
  return `waiting: the disruption budget is exhausted${isLimited ? ', or too many machines of the zones are missing' : ''}`;
}

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

const leftovers = (o: InPlaceSnapshot): NodeMark[] =>
  o.current.machines.flatMap((machine) => {
    const node = isTerminating(machine) || isBeingHandedOver(machine) ? undefined : nodeOf(machine, o);
    const change = node && leftoverOf(machine, node);
    return change ? [{ node, change }] : [];
  });

const isUpdated = (machine: Machine, node: Node): boolean =>
  node.metadata.labels?.[Labels.UpdateResult] === UpdateResults.Successful &&
  updateReasonOf(machine) === InPlaceUpdateReasons.UpdateSuccessful;

/** One write changes both the owner and the labels of a machine (docs/compatibility/rules-deployments.md §5.5). */
function handOver(o: InPlaceSnapshot): InPlaceWork['machines'] {
  const free = o.replicas - replicasOf(o.current);
  const moves = o.old.flatMap(({ set, machines }) => {
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

/** Returns the machines that `spec.replicas` of their new set already includes. */
const settledMoves = ({ machines }: SetWithMachines): readonly Machine[] =>
  machines.filter((machine) => !isTerminating(machine) && isBeingHandedOver(machine));

/** Removes the update marks of a machine when `spec.replicas` of its set includes the machine. */
function tidyUp(o: InPlaceSnapshot): InPlaceWork {
  const { machines, set } = o.current;
  const alive = machines.filter((machine) => !isTerminating(machine));
  return {
    machines: [o.current, ...o.old].flatMap(settledMoves).map((machine) => ({
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

/** Returns all changes of a node after its in-place update, combined in one write. */
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

/** Selects nodes again that were last updated to an older template, because these nodes are already drained. */
function selectedAgain(o: InPlaceSnapshot): NodeMark[] {
  const { current, old } = o;
  const first = [...old, current].flatMap(({ machines }) =>
    machines.flatMap((machine) => {
      const node = nodeOf(machine, o);
      const waits = node && !isTerminating(machine) && wasEmptied(machine, o);
      const reported = updateReasonOf(machine) === InPlaceUpdateReasons.CandidateForUpdate;
      return waits && reported ? [{ node, change: selectedFor(current.set) }] : [];
    }),
  );
  return o.repairsFirst ? [] : first.slice(0, o.free ?? first.length);
}

/**
 * Selects as many nodes as the disruption budget still allows (docs/compatibility/rules-deployments.md §5.6, 5.7). If a
 * machine is both selected and unavailable, the original counts the machine twice, and updates too few machines.
 */
function select(o: InPlaceSnapshot): NodeMark[] {
  const { replicas, unavailable, current, old } = o;
  const marked = (machine: Machine, key: string) => nodeOf(machine, o)?.metadata.labels?.[key] !== undefined;
  const selected = (machine: Machine) => isSelected(machine, o);
  const undergoing = old.flatMap(({ machines }) => machines.filter(selected)).length;
  const began = (machine: Machine) => wasEmptied(machine, o);
  const first = selectedAgain(o);
  if (first.length > 0 || o.repairsFirst || o.stopped) return first;
  const n = replicasOf(current);
  const minAvailable = replicas - unavailable;
  const newUnavailable = Math.max(0, n - current.machines.filter(isAvailable).length);
  if (replicasOfAll(old) + n - minAvailable - newUnavailable - undergoing <= 0) return [];
  const steady = [current, ...old].reduce((total, one) => {
    const available = one.machines.filter((machine) => isAvailable(machine) && !began(machine));
    const taken = available.filter(
      (machine) => selected(machine) && (one !== current || marked(machine, Labels.CandidateForUpdate)),
    ).length;
    return total + Math.max(Math.min(available.length, replicasOf(one)) - taken, 0);
  }, 0);
  const most = Math.min(replicas, o.ceiling ?? replicas);
  let quota = Math.min(rolloutRoom(steady, replicas, unavailable), most - n - undergoing);
  const marks: NodeMark[] = [];
  const takesPlace = o.zones && zonePlaces(o.zones, (one) => !isAvailable(one) || selected(one) || began(one));
  for (const { machines } of old.toSorted((a, b) => createdAt(a.set) - createdAt(b.set))) {
    for (const machine of machines) {
      const node = nodeOf(machine, o);
      if (quota <= 0) return marks;
      if (!node || isTerminating(machine) || !marked(machine, Labels.CandidateForUpdate) || selected(machine)) continue;
      if (began(machine) || o.postponed?.has(machine) || takesPlace?.(machine) === false) continue;
      marks.push({ node, change: selectedFor(current.set) });
      quota -= 1;
    }
  }
  return marks;
}
