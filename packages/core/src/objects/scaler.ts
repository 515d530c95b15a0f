import {
  Annotations,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  TRIGGERED_DELETION_PRIORITY,
} from '@mcm/api';
import { parseInstant, parseInteger } from '../values/integers.ts';
import { markTimeOf, priorityOf } from './machines.ts';

/** One entry of the annotation trigger-deletion-by-mcm. */
export interface Trigger {
  readonly name: string;
  /** RFC 3339 as written by the autoscaler; undefined: the entry has no time. */
  readonly time: string | undefined;
}

/** Reads the list of names, `m1~t1,m2`. An entry with more than one `~`, or without a name, is skipped. */
export function readTriggers(text: string | undefined): Trigger[] {
  return (text ?? '').split(',').flatMap((entry) => {
    const [name = '', time, ...more] = entry.trim().split('~');
    return name !== '' && more.length === 0 ? [{ name, time }] : [];
  });
}

/** The request of the autoscaler for a set, from its MachineDeployment. */
export interface ScalerRequest {
  /**
   * Machines that are named for deletion, with the time of that decision in milliseconds since 1970; undefined: no
   * time.
   */
  readonly named: ReadonlyMap<string, number | undefined>;
  /**
   * The deployment wants fewer machines than at the last scaling of the set, so the set's replicas are about to fall.
   */
  readonly falling: boolean;
}

/** By how much the count of machines falls at the next scaling of the set; 0: it does not. */
export function fallOf(set: MachineSet, deployment: MachineDeployment): number {
  const replicas = deployment.spec.replicas ?? 0;
  const desired = parseInteger(set.metadata.annotations?.[Annotations.DesiredReplicas]);
  return Math.max((desired ?? 0) - replicas, (set.spec.replicas ?? 0) - replicas, 0);
}

export function scalerRequest(set: MachineSet, deployment: MachineDeployment): ScalerRequest {
  const triggers = readTriggers(deployment.metadata.annotations?.[Annotations.TriggerDeletion]);
  const named = triggers.flatMap(({ name, time }) => {
    const at = parseInstant(time);
    return time === undefined || at !== undefined ? [[name, at] as const] : [];
  });
  return { named: new Map(named), falling: fallOf(set, deployment) > 0 };
}

/** A fall of the set's count covers names up to this time; milliseconds since 1970. */
export const coveredUntil = ({ metadata }: MachineSet): number | undefined =>
  parseInstant(metadata.annotations?.[Annotations.LastReplicaChangeByScaler]);

/**
 * Machines that are deleted at any count: they are marked, and the set's count has fallen for them. If it has risen
 * again since, they are replaced, because the autoscaler has cordoned their nodes
 * (docs/compatibility/rules-deployments.md §9.3). While the count is about to fall this waits: the fall itself deletes
 * them without successors.
 *
 * @param request Absent: the set has no deployment, so only the marks of its machines count.
 */
export function coveredByScaler(
  set: MachineSet,
  removable: readonly Machine[],
  request: ScalerRequest | undefined,
): Machine[] {
  const until = coveredUntil(set);
  if (until === undefined || request?.falling) return [];
  return removable.filter((machine) => {
    if (priorityOf(machine) !== TRIGGERED_DELETION_PRIORITY) return false;
    const mark = markTimeOf(machine);
    // A name that was removed from the list requests no deletion.
    const entry = request === undefined ? mark : request.named.get(machine.metadata.name);
    return mark !== undefined && entry !== undefined && mark <= until && entry <= until;
  });
}
