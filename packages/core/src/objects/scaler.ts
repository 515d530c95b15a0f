import {
  Annotations,
  type Machine,
  type MachineDeployment,
  type MachineSet,
  TRIGGERED_DELETION_PRIORITY,
} from '@mcm/api';
import { parseInstant, parseInteger } from '../values/integers.ts';
import { isBeingHandedOver, isFailed, markTimeOf, priorityOf } from './machines.ts';

export interface Trigger {
  readonly name: string;
  readonly time: string | undefined;
}

/** Entries without a machine name, or with more than one `~`, are skipped. */
export function readTriggers(text: string | undefined): Trigger[] {
  return (text ?? '').split(',').flatMap((entry) => {
    const [name = '', time, ...more] = entry.trim().split('~');
    return name !== '' && more.length === 0 ? [{ name, time }] : [];
  });
}

/** The requests of the autoscaler for a set, from the annotations of its MachineDeployment. */
export interface ScalerRequest {
  /** The machines that the autoscaler named for deletion, with the time of the request in milliseconds since 1970. */
  readonly named: ReadonlyMap<string, number | undefined>;
  readonly falling: boolean;
}

export function fallOf(set: MachineSet, deployment: MachineDeployment): number {
  const replicas = deployment.spec.replicas ?? 0;
  const desired = parseInteger(set.metadata.annotations?.[Annotations.DesiredReplicas]);
  return Math.max((desired ?? 0) - replicas, (set.spec.replicas ?? 0) - replicas, 0);
}

/**
 * Returns the number of named machines that the set does not delete yet. A named machine has priority 1, or is in the
 * deletion list of the deployment.
 * @param staying machines of the set that are not being deleted
 */
export function countNamed(set: MachineSet, staying: readonly Machine[], deployment: MachineDeployment): number {
  const list = readTriggers(deployment.metadata.annotations?.[Annotations.TriggerDeletion]);
  const names = new Set(list.map(({ name }) => name));
  const named = staying.filter(
    (machine) =>
      (names.has(machine.metadata.name) || priorityOf(machine) === TRIGGERED_DELETION_PRIORITY) &&
      !isFailed(machine) &&
      !isBeingHandedOver(machine),
  );
  // A set with more machines than replicas deletes named machines first.
  const surplus = Math.max(staying.length - (set.spec.replicas ?? 0), 0);
  return Math.max(named.length - surplus, 0);
}

export function scalerRequest(set: MachineSet, deployment: MachineDeployment): ScalerRequest {
  const triggers = readTriggers(deployment.metadata.annotations?.[Annotations.TriggerDeletion]);
  const named = triggers.flatMap(({ name, time }) => {
    const at = parseInstant(time);
    return time === undefined || at !== undefined ? [[name, at] as const] : [];
  });
  return { named: new Map(named), falling: fallOf(set, deployment) > 0 };
}

/** Machines that the autoscaler named before the scaler time belong to an earlier scale-down. */
export const coveredUntil = ({ metadata }: MachineSet): number | undefined =>
  parseInstant(metadata.annotations?.[Annotations.LastReplicaChangeByScaler]);

/**
 * Returns the marked machines that the set deletes although its replicas do not change. An earlier scale-down already
 * includes these machines.
 * - If a client raised the replicas after the scale-down, the set replaces the named machines, because their nodes are
 * cordoned (docs/compatibility/rules-deployments.md §9.3).
 * - If the replicas are about to decrease, the set waits for the new size, and then deletes the named machines without
 * replacements.
 * @param request the requests for the set, or undefined if the set has no deployment
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
    const entry = request === undefined ? mark : request.named.get(machine.metadata.name);
    return mark !== undefined && entry !== undefined && mark <= until && entry <= until;
  });
}
