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
 * Value of the template annotation after an update to another template has ended. The next selection of the node then
 * applies to the current template.
 */
const ENDED = '';

const has = ({ metadata }: Node, key: string): boolean => metadata.labels?.[key] !== undefined;

/**
 * Makes the node schedulable again. If the machine-config daemon keeps the node drained, the node stays cordoned, and the
 * daemon uncordons the node later.
 */
export const schedulable = ({ metadata }: Node): { readonly unschedulable?: false } =>
  metadata.annotations?.[Annotations.ConfigDaemonDrain]?.startsWith('drain-') ? {} : { unschedulable: false };

/** The annotations that {@link schedulable} reads. */
export const DECIDED_BY_DRAIN = [Annotations.ConfigDaemonDrain] as const;

/** Selects a node for an update to the template of the set, and records this template on the node. */
export function selectedFor(current: MachineSet): Change {
  return {
    metadata: {
      labels: { [Labels.SelectedForUpdate]: TRUE_LOWER },
      annotations: { [Annotations.SelectedForTemplate]: hashOf(current) ?? null },
    },
  };
}

/**
 * Returns true if the node was selected for an update to another template. A node without a template annotation counts as
 * selected for the current template.
 */
export function isOutdated(node: Node, current: MachineSet): boolean {
  const template = templateOf(node);
  return template !== undefined && template !== ENDED && template !== hashOf(current);
}

/** Returns true if the last update of the node, successful or failed, was to another template than the requested one. */
const isElsewhere = (node: Node, current: MachineSet): boolean =>
  templateOf(node) === ENDED || isOutdated(node, current);

/**
 * Returns true if the node was drained for an update to another template and this update has ended. The node waits for its
 * next update.
 */
export const beganFor = (node: Node, current: MachineSet): boolean =>
  has(node, Labels.CandidateForUpdate) && !has(node, Labels.SelectedForUpdate) && isElsewhere(node, current);

/**
 * Returns true if the node was selected and has no template annotation. Such a node counts as selected for the current
 * template.
 */
const isUnnoted = (node: Node): boolean =>
  has(node, Labels.SelectedForUpdate) && !has(node, Labels.UpdateResult) && (templateOf(node) ?? ENDED) === ENDED;

/**
 * Returns true if the agent may have started the update. mcm knows the progress and the template of the update only after
 * its end.
 */
const hasBegun = (machine: Machine): boolean => {
  const reason = updateReasonOf(machine);
  const waits = reason === undefined || reason === Reasons.CandidateForUpdate || reason === Reasons.SelectedForUpdate;
  return !waits || phaseOf(machine) !== 'Running';
};

/**
 * Removes the selection and the result of an update to another template. The function waits until the Machine object shows
 * this result.
 */
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

/** Returns the change of the node that updates an old machine to the current template. */
export function startedFor(machine: Machine, node: Node, current: MachineSet): Change | undefined {
  if (!has(node, Labels.SelectedForUpdate)) return undefined;
  const outdated = isOutdated(node, current);
  if (outdated && has(node, Labels.UpdateResult)) return outdatedResult(machine);
  return isUnnoted(node) || (outdated && !hasBegun(machine)) ? selectedFor(current) : undefined;
}

/**
 * Returns the change of a node that was marked for an update to another template, if its machine belongs to the current
 * set. An update that has not started is canceled. After an update that has ended, the node is updated back to the current
 * template.
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
 * Removes the selection from a node that has the current template and is no candidate for an update. The next rollout would
 * otherwise use this selection. The selection stays while the agent may still update the node.
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
