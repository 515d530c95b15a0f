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
import { parseInstant, parseInteger } from '../values/integers.ts';

export const isTerminating = (machine: Machine): boolean =>
  machine.metadata.deletionTimestamp !== undefined || phaseOf(machine) === 'Terminating';

/**
 * Returns true if the drain timeout of a deletion has expired and the undrainable policy keeps the VM. A
 * MachineDeployment does not wait for such a machine, because its deletion has no time limit.
 */
export const isUndrained = ({ metadata }: Machine): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.annotations?.[Annotations.Undrained] !== undefined;

export const isFailed = (machine: Machine): boolean => phaseOf(machine) === 'Failed';

/**
 * Returns the readiness taints that the Node of a machine got after the join. `since` is the time of the first taint in
 * RFC 3339. Returns undefined without a readiness taint.
 */
export function awaitedReadiness({
  metadata,
}: Machine): { readonly since: string; readonly taints: readonly string[] } | undefined {
  const [since = '', taints = ''] = metadata.annotations?.[Annotations.AwaitsReadiness]?.split(' ') ?? [];
  return since === '' ? undefined : { since, taints: taints.split(',') };
}

/**
 * Returns true if the machine is available. The machine must be Running, or Available without a target cluster. The
 * machine must not be in deletion, and its Node must have no readiness taint. The original checks only the phase,
 * because the original sets the phase Terminating at each deletion.
 */
export const isAvailable = (machine: Machine): boolean =>
  machine.metadata.deletionTimestamp === undefined &&
  isAvailablePhase(phaseOf(machine)) &&
  awaitedReadiness(machine) === undefined;

export const isReady = (machine: Machine): boolean =>
  machine.metadata.deletionTimestamp === undefined && isReadyPhase(phaseOf(machine));

/**
 * Returns true if the Node of the machine has not applied its initial machine configuration. Such a machine can be
 * Running, because the phase depends only on the Ready condition of the Node.
 */
export const isUnconfigured = ({ metadata: { annotations = {} } }: Machine): boolean =>
  annotations[Annotations.TemplateConfig] !== undefined && annotations[Annotations.ConfigApplied] !== TRUE_LOWER;

/**
 * Returns true if an in-place update moved the machine to this set and has not ended. The set must not delete the
 * machine before the update ends.
 */
export const isBeingHandedOver = (machine: Machine): boolean =>
  machine.metadata.labels?.[Labels.UpdateResult] === UpdateResults.Successful;

/** `served`: the machine may have run pods. `unjoined`: the machine failed before its Node joined. */
export type LostState = 'served' | 'unjoined';

/** The values of the annotation on a replacement. The annotation states which kind of machine was replaced. */
export const LOST_STATE_MARKS: Readonly<Record<LostState, string>> = { served: TRUE_LOWER, unjoined: 'unjoined' };

/** Returns the state of the replaced machine, or undefined if the machine is no replacement. */
export const formerLostState = ({ metadata }: Machine): LostState | undefined => {
  const mark = metadata.annotations?.[Annotations.Replacement];
  return (['served', 'unjoined'] as const).find((lostState) => LOST_STATE_MARKS[lostState] === mark);
};

export const isReplacement = (machine: Machine): boolean => formerLostState(machine) !== undefined;

export const neverJoined = ({ status }: Machine): boolean =>
  status?.lastOperation?.type === 'Create' && status.lastOperation.state !== 'Successful';

export const lostStateOf = (machine: Machine): LostState =>
  isFailed(machine) && neverJoined(machine) ? 'unjoined' : 'served';

/**
 * Returns the reason of the in-place update. The machine controller copies the reason from the Node to the status of
 * the machine.
 */
export const updateReasonOf = (machine: Machine): string | undefined =>
  machine.status?.conditions?.find(({ type }) => type === NodeConditions.InPlaceUpdate)?.reason;

/** Returns the expiry of the preservation in milliseconds since 1970, or undefined if the machine is not preserved. */
export const preserveExpiry = (machine: Machine): number | undefined =>
  parseInstant(machine.status?.currentStatus?.preserveExpiryTime);

export const isPreserved = (machine: Machine, now: Date): boolean => (preserveExpiry(machine) ?? 0) > now.getTime();

/**
 * Returns the deletion priority of a machine. Machines with a lower number are deleted first. The deletion priority is
 * 3 if the annotation is missing or not an integer.
 */
export const priorityOf = (machine: Machine): number =>
  parseInteger(machine.metadata.annotations?.[Annotations.Priority]) ?? DEFAULT_MACHINE_PRIORITY;

export const markTimeOf = (machine: Machine): number | undefined =>
  parseInstant(machine.metadata.annotations?.[Annotations.MarkedForDeletionTime]);

export const createdAt = (object: { readonly metadata: { readonly creationTimestamp: string } }): number =>
  parseInstant(object.metadata.creationTimestamp) ?? 0;
