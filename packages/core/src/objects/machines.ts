import {
  Annotations,
  DEFAULT_MACHINE_PRIORITY,
  isAvailablePhase,
  isReadyPhase,
  Labels,
  type Machine,
  NodeConditions,
  phaseOf,
  TRUE_LOWER,
  UpdateResults,
} from '@mcm/api';
import type { Node } from '@mcm/kube';
import { parseInstant, parseInteger } from '../values/integers.ts';

export const isTerminating = (machine: Machine): boolean =>
  machine.metadata.deletionTimestamp !== undefined || phaseOf(machine) === 'Terminating';

/**
 * Returns true if the drain timeout of a deletion has expired and the undrainable policy keeps the VM. A
 * MachineDeployment does not wait for an undrained machine, because the deletion of an undrained machine has no time
 * limit.
 */
export const isUndrained = ({ metadata }: Machine): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.annotations?.[Annotations.Undrained] !== undefined;

export const isFailed = (machine: Machine): boolean => phaseOf(machine) === 'Failed';

/**
 * Returns the readiness taints that the Node of a machine got after the join, or undefined. `since` is the time of the
 * first readiness taint in RFC 3339.
 */
export function awaitedReadiness({
  metadata,
}: Machine): { readonly since: string; readonly taints: readonly string[] } | undefined {
  const [since = '', taints = ''] = metadata.annotations?.[Annotations.AwaitsReadiness]?.split(' ') ?? [];
  return since === '' ? undefined : { since, taints: taints.split(',') };
}

/**
 * Returns true if the machine is available. An available machine is Running (or Available without a target cluster),
 * and its Node has no readiness taint. The original checks only the phase, because it sets the phase Terminating at
 * each deletion.
 */
export const isAvailable = (machine: Machine): boolean =>
  machine.metadata.deletionTimestamp === undefined &&
  isAvailablePhase(phaseOf(machine)) &&
  awaitedReadiness(machine) === undefined;

export const isReady = (machine: Machine): boolean =>
  machine.metadata.deletionTimestamp === undefined && isReadyPhase(phaseOf(machine));

/**
 * A machine without its initial configuration can be Running, because the phase depends only on the Ready condition.
 */
export const isUnconfigured = ({ metadata: { annotations = {} } }: Machine): boolean =>
  annotations[Annotations.TemplateConfig] !== undefined && annotations[Annotations.ConfigApplied] !== TRUE_LOWER;

/**
 * Returns true if an in-place update moved the machine to this set and has not ended. The set must not delete a machine
 * before its in-place update ends.
 */
export const isBeingHandedOver = (machine: Machine): boolean =>
  machine.metadata.labels?.[Labels.UpdateResult] === UpdateResults.Successful;

/** `served`: the replaced machine may have run pods; `unjoined`: the replaced machine failed before its Node joined. */
export type LostState = 'served' | 'unjoined';

/** The values of the annotation on a replacement, for the kind of machine that was replaced. */
export const LOST_STATE_MARKS: Readonly<Record<LostState, string>> = { served: TRUE_LOWER, unjoined: 'unjoined' };

export const formerLostState = ({ metadata }: Machine): LostState | undefined => {
  const mark = metadata.annotations?.[Annotations.Replacement];
  return (['served', 'unjoined'] as const).find((lostState) => LOST_STATE_MARKS[lostState] === mark);
};

export const isReplacement = (machine: Machine): boolean => formerLostState(machine) !== undefined;

export const neverJoined = ({ status }: Machine): boolean =>
  status?.lastOperation?.type === 'Create' && status.lastOperation.state !== 'Successful';

export const lostStateOf = (machine: Machine): LostState =>
  isFailed(machine) && neverJoined(machine) ? 'unjoined' : 'served';

/** The machine controller copies the reason of an in-place update from the Node to the status of the machine. */
export const updateReasonOf = ({ status }: Machine | Node): string | undefined =>
  status?.conditions?.find(({ type }) => type === NodeConditions.InPlaceUpdate)?.reason;

export const preserveExpiry = (machine: Machine): number | undefined =>
  parseInstant(machine.status?.currentStatus?.preserveExpiryTime);

export const isPreserved = (machine: Machine, now: Date): boolean => (preserveExpiry(machine) ?? 0) > now.getTime();

/** Returns the deletion priority of a machine (default: 3); machines with a lower number are deleted first. */
export const priorityOf = (machine: Machine): number =>
  parseInteger(machine.metadata.annotations?.[Annotations.Priority]) ?? DEFAULT_MACHINE_PRIORITY;

export const markTimeOf = (machine: Machine): number | undefined =>
  parseInstant(machine.metadata.annotations?.[Annotations.MarkedForDeletionTime]);

export const createdAt = (object: { readonly metadata: { readonly creationTimestamp: string } }): number =>
  parseInstant(object.metadata.creationTimestamp) ?? 0;
