import {
  Annotations,
  InPlaceUpdateReasons,
  Labels,
  type Machine,
  type MachineSet,
  phaseOf,
  TRUE_LOWER,
} from '@mcm/api';
import type { Node } from '@mcm/kube';
import { updateReasonOf } from '../../objects/machines.ts';
import type { NodeMark } from '../state/node-marks.ts';

type Change = NodeMark['change'];

const Reasons = InPlaceUpdateReasons;
const hashOf = ({ metadata }: MachineSet): string | undefined => metadata.labels?.[Labels.TemplateHash];
const templateOf = ({ metadata }: Node): string | undefined => metadata.annotations?.[Annotations.SelectedForTemplate];
/**
 * Replaces a template: the last update of the node was for another template and has ended. The next selection
 * is for the current template.
 */
const ENDED = '';

const has = ({ metadata }: Node, key: string): boolean => metadata.labels?.[key] !== undefined;

/** Makes the node schedulable again, unless its machine-config daemon keeps it drained and uncordons it later. */
export const schedulable = ({ metadata }: Node): { readonly unschedulable?: false } =>
  metadata.annotations?.[Annotations.ConfigDaemonDrain]?.startsWith('drain-') ? {} : { unschedulable: false };

/** The annotations that {@link schedulable} reads. */
export const DECIDED_BY_DRAIN = [Annotations.ConfigDaemonDrain] as const;

/** Selects a node for an update to the template of the set, and records this template. */
export function selectedFor(current: MachineSet): Change {
  return {
    metadata: {
      labels: { [Labels.SelectedForUpdate]: TRUE_LOWER },
      annotations: { [Annotations.SelectedForTemplate]: hashOf(current) ?? null },
    },
  };
}

/**
 * Returns true if the update of the node was begun for another template. Without a record it counts as the current one.
 */
export function isOutdated(node: Node, current: MachineSet): boolean {
  const template = templateOf(node);
  return template !== undefined && template !== ENDED && template !== hashOf(current);
}

/** Returns true if the node was updated, or failed to update, to another template than the requested one. */
const isElsewhere = (node: Node, current: MachineSet): boolean =>
  templateOf(node) === ENDED || isOutdated(node, current);

/**
 * Returns true if the node was drained for an update to another template, and this update has ended. It waits for the
 * next one.
 */
export const beganFor = (node: Node, current: MachineSet): boolean =>
  has(node, Labels.CandidateForUpdate) && !has(node, Labels.SelectedForUpdate) && isElsewhere(node, current);

/** Returns true if the node was selected without a record of the template. Then it counts as the current template. */
const isUnnoted = (node: Node): boolean =>
  has(node, Labels.SelectedForUpdate) && !has(node, Labels.UpdateResult) && (templateOf(node) ?? ENDED) === ENDED;

/** Returns true if the agent may have begun. Until it ends, its action and template are unknown. */
const hasBegun = (machine: Machine): boolean => {
  const reason = updateReasonOf(machine);
  const waits = reason === undefined || reason === Reasons.CandidateForUpdate || reason === Reasons.SelectedForUpdate;
  return !waits || phaseOf(machine) !== 'Running';
};

/** Removes the selection and the result of an update to another template, once the machine shows this result. */
function outdatedResult(machine: Machine): Change | undefined {
  const reason = updateReasonOf(machine);
  const reported = reason === Reasons.UpdateSuccessful || reason === Reasons.UpdateFailed;
  if (!reported || phaseOf(machine) === 'InPlaceUpdating') return undefined;
  return {
    metadata: {
      labels: { [Labels.SelectedForUpdate]: null, [Labels.UpdateResult]: null },
      annotations: { [Annotations.UpdateFailedReason]: null, [Annotations.SelectedForTemplate]: ENDED },
    },
  };
}

/** Changes the node of an old machine so that it is updated to the current template. */
export function startedFor(machine: Machine, node: Node, current: MachineSet): Change | undefined {
  if (!has(node, Labels.SelectedForUpdate)) return undefined;
  const outdated = isOutdated(node, current);
  if (outdated && has(node, Labels.UpdateResult)) return outdatedResult(machine);
  return isUnnoted(node) || (outdated && !hasBegun(machine)) ? selectedFor(current) : undefined;
}

/**
 * Changes the node of a machine of the current set that was marked for an update to another template. An update that
 * has not begun is cancelled. An update that has ended is followed by one back to the current template.
 */
export function restarts(machine: Machine, node: Node, current: MachineSet): Change | undefined {
  if (!has(node, Labels.CandidateForUpdate)) return undefined;
  const outdated = isOutdated(node, current);
  if (outdated && has(node, Labels.UpdateResult)) return outdatedResult(machine);
  if (templateOf(node) === ENDED && isUnnoted(node)) return selectedFor(current);
  if (has(node, Labels.UpdateResult) || hasBegun(machine)) return undefined;
  if (has(node, Labels.SelectedForUpdate) && !outdated) return undefined;
  if (!has(node, Labels.SelectedForUpdate)) {
    return isElsewhere(node, current) ? undefined : { metadata: { labels: { [Labels.CandidateForUpdate]: null } } };
  }
  return {
    metadata: {
      labels: { [Labels.CandidateForUpdate]: null, [Labels.SelectedForUpdate]: null },
      annotations: { [Annotations.SelectedForTemplate]: null },
    },
    spec: schedulable(node),
    decidedBy: DECIDED_BY_DRAIN,
  };
}

/**
 * Removes a selection from a node that is not a candidate because it has the current template. The next rollout would
 * take it for its own selection. If the agent may still be at work, nothing changes.
 */
export function leftoverOf(machine: Machine, node: Node): Change | undefined {
  if (!has(node, Labels.SelectedForUpdate) || has(node, Labels.CandidateForUpdate)) return undefined;
  const phase = phaseOf(machine);
  if (has(node, Labels.UpdateResult) || phase === 'InPlaceUpdating' || phase === 'InPlaceUpdateFailed')
    return undefined;
  const noted = templateOf(node) !== undefined;
  return {
    metadata: {
      labels: { [Labels.SelectedForUpdate]: null },
      annotations: noted ? { [Annotations.SelectedForTemplate]: null } : undefined,
    },
  };
}
