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

/** True if the deletion of the machine was requested or has started. */
export const isTerminating = (machine: Machine): boolean =>
  machine.metadata.deletionTimestamp !== undefined || phaseOf(machine) === 'Terminating';

/**
 * True if the machine is being deleted, its drain timeout has expired, and its undrainable policy keeps its VM. This state
 * has no time limit, so a deployment does not wait for it.
 */
export const isUndrained = ({ metadata }: Machine): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.annotations?.[Annotations.Undrained] !== undefined;

export const isFailed = (machine: Machine): boolean => phaseOf(machine) === 'Failed';

/**
 * Running, or Available without a target cluster, and not being deleted. The original uses only the phase, because it
 * writes the phase Terminating with each deletion.
 */
export const isAvailable = (machine: Machine): boolean =>
  machine.metadata.deletionTimestamp === undefined && isAvailablePhase(phaseOf(machine));

export const isReady = (machine: Machine): boolean =>
  machine.metadata.deletionTimestamp === undefined && isReadyPhase(phaseOf(machine));

/** Created for a machine configuration that its node has not applied. It is Running as soon as its Node is Ready. */
export const isUnconfigured = ({ metadata: { annotations = {} } }: Machine): boolean =>
  annotations[Annotations.TemplateConfig] !== undefined && annotations[Annotations.ConfigApplied] !== TRUE_LOWER;

/** Moved here by an in-place update whose hand-over has not ended, so the set must not delete it. */
export const isBeingHandedOver = (machine: Machine): boolean =>
  machine.metadata.labels?.[Labels.UpdateResult] === UpdateResults.Successful;

/** State of a lost machine that needs a successor. `served`: it ran pods, or may have. `unjoined`: it Failed before it joined. */
export type Loss = 'served' | 'unjoined';

/** Values of the annotation of a machine that replaces another one. */
export const LOSS_MARKS: Readonly<Record<Loss, string>> = { served: TRUE_LOWER, unjoined: 'unjoined' };

/** The loss that the machine replaces. Undefined: it replaces none. */
export const lossBefore = ({ metadata }: Machine): Loss | undefined => {
  const mark = metadata.annotations?.[Annotations.Replacement];
  return (['served', 'unjoined'] as const).find((loss) => LOSS_MARKS[loss] === mark);
};

/** The machine replaces a lost one. */
export const isReplacement = (machine: Machine): boolean => lossBefore(machine) !== undefined;

/** A machine that never joined runs no pods, so its replacement disrupts nothing. */
export const neverJoined = ({ status }: Machine): boolean =>
  status?.lastOperation?.type === 'Create' && status.lastOperation.state !== 'Successful';

/** The loss if the machine is deleted. A machine that is being created may itself be an awaited successor. */
export const lossOf = (machine: Machine): Loss => (isFailed(machine) && neverJoined(machine) ? 'unjoined' : 'served');

/** The progress of its node's in-place update, copied by the machine controller to the status. */
export const updateReasonOf = (machine: Machine): string | undefined =>
  machine.status?.conditions?.find(({ type }) => type === NodeConditions.InPlaceUpdate)?.reason;

/** The end of its preservation, in milliseconds since 1970; undefined: not preserved. */
export const preserveExpiry = (machine: Machine): number | undefined =>
  parseInstant(machine.status?.currentStatus?.preserveExpiryTime);

/** Preserved until a future time. */
export const isPreserved = (machine: Machine, now: Date): boolean => (preserveExpiry(machine) ?? 0) > now.getTime();

/** Deletion priority: lower is deleted first; 3 if the annotation is absent or not an integer. */
export const priorityOf = (machine: Machine): number =>
  parseInteger(machine.metadata.annotations?.[Annotations.Priority]) ?? DEFAULT_MACHINE_PRIORITY;

/** When the cluster autoscaler selected the machine for deletion. */
export const markTimeOf = (machine: Machine): number | undefined =>
  parseInstant(machine.metadata.annotations?.[Annotations.MarkedForDeletionTime]);

export const createdAt = (object: { readonly metadata: { readonly creationTimestamp: string } }): number =>
  parseInstant(object.metadata.creationTimestamp) ?? 0;
