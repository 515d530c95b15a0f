import { Annotations, InPlaceUpdateReasons, Labels, type Machine, type MachineSet, TRUE_LOWER } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { phaseOf, updateReasonOf } from '../../objects/machines.ts';
import type { NodeMark } from '../state/node-marks.ts';

type Change = NodeMark['change'];

const Reasons = InPlaceUpdateReasons;
const hashOf = ({ metadata }: MachineSet): string | undefined => metadata.labels?.[Labels.TemplateHash];
const templateOf = ({ metadata }: Node): string | undefined => metadata.annotations?.[Annotations.SelectedForTemplate];
/** In place of a template: the node's last update was for another one and has ended. Whoever selects it next means the current. */
const ENDED = '';

const has = ({ metadata }: Node, key: string): boolean => metadata.labels?.[key] !== undefined;

/**
 * Schedulable again; unless the node's daemon of machine configs wants it empty, and gives it back when it is done.
 */
export const schedulable = ({ metadata }: Node): { readonly unschedulable?: false } =>
  metadata.annotations?.[Annotations.ConfigDaemonDrain]?.startsWith('drain-') ? {} : { unschedulable: false };

/** What {@link schedulable} decides by. */
export const DECIDED_BY_DRAIN = [Annotations.ConfigDaemonDrain] as const;

/** Selects a node for an update to the set's template, and notes which that is. */
export function selectedFor(current: MachineSet): Change {
  return {
    metadata: {
      labels: { [Labels.SelectedForUpdate]: TRUE_LOWER },
      annotations: { [Annotations.SelectedForTemplate]: hashOf(current) ?? null },
    },
  };
}

/** Whether the node's update was begun for another template; one without a note is taken for one to the current. */
export function isOutdated(node: Node, current: MachineSet): boolean {
  const template = templateOf(node);
  return template !== undefined && template !== ENDED && template !== hashOf(current);
}

/** Whether the node was updated, or failed to be, to another template than the wanted one. */
const isElsewhere = (node: Node, current: MachineSet): boolean =>
  templateOf(node) === ENDED || isOutdated(node, current);

/** Whether the node was emptied for another template's update, whose end was taken note of: it waits for the next. */
export const beganFor = (node: Node, current: MachineSet): boolean =>
  has(node, Labels.CandidateForUpdate) && !has(node, Labels.SelectedForUpdate) && isElsewhere(node, current);

/** Whether somebody selected the node without a note of the template: it is the current one, begun or not. */
const isUnnoted = (node: Node): boolean =>
  has(node, Labels.SelectedForUpdate) && !has(node, Labels.UpdateResult) && (templateOf(node) ?? ENDED) === ENDED;

/** Its agent may have begun: what it does, and for which template, nobody can say until it has ended. */
const hasBegun = (machine: Machine): boolean => {
  const reason = updateReasonOf(machine);
  const waits = reason === undefined || reason === Reasons.CandidateForUpdate || reason === Reasons.SelectedForUpdate;
  return !waits || phaseOf(machine) !== 'Running';
};

/** Takes the result of an update to another template, and the selection, off once the machine tells of it. */
function outdatedResult(machine: Machine): Change | undefined {
  const reason = updateReasonOf(machine);
  const told = reason === Reasons.UpdateSuccessful || reason === Reasons.UpdateFailed;
  if (!told || phaseOf(machine) === 'InPlaceUpdating') return undefined;
  return {
    metadata: {
      labels: { [Labels.SelectedForUpdate]: null, [Labels.UpdateResult]: null },
      annotations: { [Annotations.UpdateFailedReason]: null, [Annotations.SelectedForTemplate]: ENDED },
    },
  };
}

/** What is to be done to the node of an old machine so that its update is one to the current template. */
export function startedFor(machine: Machine, node: Node, current: MachineSet): Change | undefined {
  if (!has(node, Labels.SelectedForUpdate)) return undefined;
  const outdated = isOutdated(node, current);
  if (outdated && has(node, Labels.UpdateResult)) return outdatedResult(machine);
  return isUnnoted(node) || (outdated && !hasBegun(machine)) ? selectedFor(current) : undefined;
}

/**
 * What is to be done to the node of a machine of the current set that an update away from it had marked: one that has
 * not begun is called off, one that has ended is followed by one back.
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
 * Takes a selection off a node that is no candidate: it has the current template, and the next rollout would take what
 * is left of this one for a selection of its own. One whose agent may still be at work is left alone.
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
      ...(noted ? { annotations: { [Annotations.SelectedForTemplate]: null } } : {}),
    },
  };
}
