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
import { hashOfSet } from '../../rollout/template-hash.ts';
import type { NodeMark } from '../state/node-marks.ts';

type Change = NodeMark['change'];

const Reasons = InPlaceUpdateReasons;
const templateOf = ({ metadata }: Node): string | undefined => metadata.annotations?.[Annotations.SelectedForTemplate];
/** The value of the annotation `SelectedForTemplate` after an update to an older template has ended. */
const ENDED = '';

const has = ({ metadata }: Node, key: string): boolean => metadata.labels?.[key] !== undefined;

/** A node that the machine-config daemon keeps drained stays cordoned until the daemon uncordons it. */
export const schedulable = ({ metadata }: Node): { readonly unschedulable?: false } =>
  metadata.annotations?.[Annotations.ConfigDaemonDrain]?.startsWith('drain-') ? {} : { unschedulable: false };

export const DECIDED_BY_DRAIN = [Annotations.ConfigDaemonDrain] as const;

/** One write selects the node and records the template of the set. */
export function selectedFor(current: MachineSet): Change {
  return {
    metadata: {
      labels: { [Labels.SelectedForUpdate]: TRUE_LOWER },
      annotations: { [Annotations.SelectedForTemplate]: hashOfSet(current) ?? null },
    },
  };
}

export function isOutdated(node: Node, current: MachineSet): boolean {
  const template = templateOf(node);
  return template !== undefined && template !== ENDED && template !== hashOfSet(current);
}

const isElsewhere = (node: Node, current: MachineSet): boolean =>
  templateOf(node) === ENDED || isOutdated(node, current);

/** Returns true if the in-place update to an older template has ended on the node. The node then stays drained. */
export const beganFor = (node: Node, current: MachineSet): boolean =>
  has(node, Labels.CandidateForUpdate) && !has(node, Labels.SelectedForUpdate) && isElsewhere(node, current);

const isUnnoted = (node: Node): boolean =>
  has(node, Labels.SelectedForUpdate) && !has(node, Labels.UpdateResult) && (templateOf(node) ?? ENDED) === ENDED;

const WAITING: ReadonlySet<string | undefined> = new Set([
  undefined,
  Reasons.CandidateForUpdate,
  Reasons.SelectedForUpdate,
]);

/** Returns true if the agent may have started the update. The cached Machine can be older than its Node. */
export const hasBegun = (machine: Machine, node: Node): boolean =>
  phaseOf(machine) !== 'Running' || !WAITING.has(updateReasonOf(machine)) || !WAITING.has(updateReasonOf(node));

/** Removes the result of an outdated update from the Node, but only after the Machine object shows the result. */
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

export function startedFor(machine: Machine, node: Node, current: MachineSet): Change | undefined {
  if (!has(node, Labels.SelectedForUpdate)) return undefined;
  const outdated = isOutdated(node, current);
  if (outdated && has(node, Labels.UpdateResult)) return outdatedResult(machine);
  if (isUnnoted(node)) return selectedFor(current);
  return outdated && !hasBegun(machine, node) ? { ...selectedFor(current), onlyIfUnchanged: true } : undefined;
}

/**
 * Returns a change for the Node of a machine with the current template, if the Node was selected for another template.
 */
export function restarts(machine: Machine, node: Node, current: MachineSet): Change | undefined {
  if (!has(node, Labels.CandidateForUpdate)) return undefined;
  const outdated = isOutdated(node, current);
  if (outdated && has(node, Labels.UpdateResult)) return outdatedResult(machine);
  if (templateOf(node) === ENDED && isUnnoted(node)) return selectedFor(current);
  if (has(node, Labels.UpdateResult) || hasBegun(machine, node)) return undefined;
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
    // The agent may start the update at the same time, so the API server must refuse the change if the Node has
    // changed.
    onlyIfUnchanged: true,
  };
}

/** Removes the selection from nodes with the current template, because the next rollout would update them. */
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
