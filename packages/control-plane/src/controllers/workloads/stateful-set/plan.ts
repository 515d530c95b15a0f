import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { look, number } from '../../../apimachinery/objects/plain.ts';
import { isDying, isReady, isTerminal, phaseOf } from '../../objects/fields.ts';
import { availability, minReadySecondsOf, replicasOf } from '../pods.ts';
import { firstOrdinal, inRange, ordinalOf, revisionOfPod } from './identity.ts';

export interface StatefulPlan {
  readonly create: readonly { readonly ordinal: number; readonly revision: string }[];
  readonly delete: readonly ApiObject[];
}

export interface StatefulView {
  readonly set: ApiObject;
  readonly pods: readonly ApiObject[];
  readonly current: string;
  readonly update: string;
  readonly now: Date;
}

/** Returns the partition of a StatefulSet. Pods with a lower ordinal keep the current revision. */
const partitionOf = (set: ApiObject): number =>
  number(look(set, 'spec', 'updateStrategy', 'rollingUpdate'), 'partition') ?? 0;

/** Returns the revision for a new pod. If a pod is deleted before its update, its successor gets the old revision. */
function revisionFor({ set, current, update }: StatefulView, ordinal: number): string {
  const { type, rollingUpdate } = look(set, 'spec', 'updateStrategy');
  const start = firstOrdinal(set);
  if (rollingUpdate !== undefined) return ordinal < start + partitionOf(set) ? current : update;
  if (type !== 'RollingUpdate') return update;
  return ordinal < start + (number(look(set, 'status'), 'currentReplicas') ?? 0) ? current : update;
}

export const isRunningAndReady = (pod: ApiObject): boolean => phaseOf(pod) === 'Running' && isReady(pod);

/**
 * The plan creates pods in ascending order, and deletes and updates pods in descending order. With `OrderedReady`, each
 * pod waits until the previous pod is available. With `Parallel`, all pods change at the same time. Scaling takes
 * precedence over updates.
 */
export function planStatefulSet(view: StatefulView): StatefulPlan {
  const { set, pods, update, now } = view;
  const start = firstOrdinal(set);
  const end = start + replicasOf(set);
  const inOrder = look(set, 'spec').podManagementPolicy !== 'Parallel';
  const seconds = minReadySecondsOf(set);
  const isAvailable = (pod: ApiObject): boolean =>
    phaseOf(pod) === 'Running' && !isDying(pod) && availability(pod, seconds, now).available;
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]));
  const create: { ordinal: number; revision: string }[] = [];
  const gone: ApiObject[] = [];
  let waits = false;
  for (let ordinal = start; ordinal < end; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    if (pod !== undefined && isTerminal(pod)) {
      // This sync deletes a finished pod, and a later sync creates a new pod.
      if (!isDying(pod)) gone.push(pod);
      waits = true;
      if (inOrder) break;
    } else if (pod === undefined) {
      create.push({ ordinal, revision: revisionFor(view, ordinal) });
      if (inOrder) break;
    } else if (inOrder && (isDying(pod) || !isRunningAndReady(pod) || !isAvailable(pod))) {
      return { create, delete: gone };
    }
  }
  if (inOrder && (waits || create.length > 0)) return { create, delete: gone };

  const condemned = pods
    .filter((pod) => ordinalOf(set, pod) >= 0 && !inRange(set, ordinalOf(set, pod)))
    .sort((a, b) => ordinalOf(set, b) - ordinalOf(set, a));
  const firstUnavailable =
    pods.find((pod) => inRange(set, ordinalOf(set, pod)) && !isAvailable(pod)) ??
    [...condemned].reverse().find((pod) => !isAvailable(pod));
  for (const pod of condemned) {
    if (inOrder && (isDying(pod) || (!isAvailable(pod) && pod !== firstUnavailable))) return { create, delete: gone };
    if (!isDying(pod)) gone.push(pod);
    if (inOrder) return { create, delete: gone };
  }
  if (look(set, 'spec', 'updateStrategy').type === 'OnDelete') return { create, delete: gone };

  // The partition counts from the first ordinal of the StatefulSet.
  for (let ordinal = end - 1; ordinal >= start + partitionOf(set); ordinal--) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) break;
    if (revisionOfPod(pod) !== update && !isDying(pod)) {
      return { create, delete: gone.includes(pod) ? gone : [...gone, pod] };
    }
    if (!isAvailable(pod)) break;
  }
  return { create, delete: gone };
}
