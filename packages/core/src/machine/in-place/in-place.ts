import {
  Annotations,
  formatTime,
  type InPlaceUpdateReason,
  InPlaceUpdateReasons,
  Labels,
  type Machine,
  NodeConditions,
  UpdateResults,
} from '@mcm/api';
import type { Condition, Node } from '@mcm/kube';
import { planDrain } from '../../drain/drain.ts';
import { isNodeOf } from '../../node/instance.ts';
import type { MachineObservation } from '../model/observation.ts';
import { type Action, act, nextAt, type Plan } from '../model/plan.ts';
import { planPods } from '../model/pod-actions.ts';
import { withOperation, withPhase } from '../model/status.ts';

const Reasons = InPlaceUpdateReasons;

export const inPlaceCondition = (node: Node | undefined): Condition | undefined =>
  node?.status?.conditions?.find(({ type }) => type === NodeConditions.InPlaceUpdate);

/** mcm drains the Node for an in-place update only in these phases. */
const MAY_DRAIN: ReadonlySet<string> = new Set([
  'Running',
  'Unknown',
  'InPlaceUpdating',
  'InPlaceUpdateSuccessful',
  'InPlaceUpdateFailed',
]);

export const wantsInPlaceDrain = (machine: Machine, node: Node | undefined): boolean =>
  MAY_DRAIN.has(machine.status?.currentStatus?.phase ?? '') &&
  node?.metadata.labels?.[Labels.CandidateForUpdate] !== undefined &&
  inPlaceCondition(node)?.reason === Reasons.SelectedForUpdate &&
  conditionFromLabels(node) === undefined;

interface Wanted {
  readonly reason: InPlaceUpdateReason;
  readonly message: string;
}

const CANDIDATE: Wanted = { reason: Reasons.CandidateForUpdate, message: 'Node is a candidate for in-place update' };

/** The reasons that are valid only while the Node has the label `selected-for-update`. */
const STARTED: ReadonlySet<string> = new Set([
  Reasons.SelectedForUpdate,
  Reasons.DrainSuccessful,
  Reasons.ReadyForUpdate,
]);

/**
 * Returns the condition that the labels of the node require, or undefined for no change. Source:
 * machine-controller-manager, updateNodeConditionBasedOnLabel.
 * - A failed update can start again after a user removes the labels for the result and the selection. In the original,
 * a failed update blocks the node forever.
 * - If the manager withdraws the selection of a node, the node becomes a candidate again. In the original, the machine
 * controller drains the node, although the manager has not selected the node.
 */
export function conditionFromLabels(node: Node): Wanted | undefined {
  const { labels = {}, annotations } = node.metadata;
  if (labels[Labels.CandidateForUpdate] === undefined) return undefined;
  const reason = inPlaceCondition(node)?.reason;
  const result = labels[Labels.UpdateResult];
  const selected = labels[Labels.SelectedForUpdate] !== undefined;
  if (reason === undefined || (reason === Reasons.UpdateSuccessful && result === undefined)) return CANDIDATE;
  const waits = result === undefined && !selected;
  if (waits && (reason === Reasons.UpdateFailed || STARTED.has(reason))) return CANDIDATE;
  if (selected && reason === Reasons.CandidateForUpdate) {
    return { reason: Reasons.SelectedForUpdate, message: 'Node is selected for in-place update' };
  }
  if (selected && reason === Reasons.SelectedForUpdate) return undefined;
  if (result === UpdateResults.Successful && reason !== Reasons.UpdateSuccessful) {
    return { reason: Reasons.UpdateSuccessful, message: 'Node in-place update successful' };
  }
  if (result === UpdateResults.Failed && reason !== Reasons.UpdateFailed) {
    const why = annotations?.[Annotations.UpdateFailedReason] ?? '';
    return { reason: Reasons.UpdateFailed, message: `Node in-place update failed: ${why}` };
  }
  return undefined;
}

const setCondition = ({ reason, message }: Wanted, now: Date): Action => {
  const time = formatTime(now);
  const times = { lastHeartbeatTime: time, lastTransitionTime: time };
  return {
    do: 'setNodeCondition',
    // If the manager withdraws the update at the same time, the API server refuses this write, so the agent does not
    // start.
    onlyIfUnchanged: true,
    condition: { type: NodeConditions.InPlaceUpdate, status: 'True', reason, message, ...times },
  };
};

/**
 * Plans an in-place update: mcm copies labels to the condition of the Node, drains a selected Node, and lets the agent
 * start.
 */
export function planInPlace(o: MachineObservation, now: Date): Plan | undefined {
  const { machine, node } = o;
  if (!node || !isNodeOf(machine, node) || !machine.status?.currentStatus?.phase) return undefined;
  const wanted = conditionFromLabels(node);
  if (wanted) return act(wanted.message, setCondition(wanted, now));
  const reason = inPlaceCondition(node)?.reason;
  if (reason === Reasons.DrainSuccessful) {
    const ready = { reason: Reasons.ReadyForUpdate, message: 'Node is ready for in-place update' };
    return act(ready.message, setCondition(ready, now));
  }
  return wantsInPlaceDrain(machine, node) ? emptyNode(o, node, now) : undefined;
}

function emptyNode(o: MachineObservation, node: Node, now: Date): Plan | undefined {
  if (!node.spec.unschedulable) {
    // If the manager withdraws the update at this moment, mcm must not cordon the Node, because no later step would
    // uncordon it.
    const main = { spec: { unschedulable: true }, onlyIfUnchanged: true } as const;
    return act('cordoning the Node for the in-place update', { do: 'syncNode', patch: { main } });
  }
  const plan = o.drain && planDrain(o.drain, now);
  if (!plan) return undefined;
  const pods = planPods(o, plan, 'draining the Node for the in-place update', now);
  if (pods) return pods;
  if (plan.drained) return drained(o, now);
  return blocked(o, plan, now);
}

/**
 * After the drain, mcm writes the phase of the machine before the condition of the node. After a crash between the two
 * writes, the next reconcile finds the drained node and completes the step.
 */
function drained({ machine }: MachineObservation, now: Date): Plan {
  const description = `Machine ${machine.metadata.name} is undergoing an in-place update`;
  const condition = setCondition({ reason: Reasons.DrainSuccessful, message: 'Node draining successful' }, now);
  if (machine.status?.currentStatus?.phase === 'InPlaceUpdating') return act(description, condition);
  const operation = { description, state: 'Processing', type: 'InPlaceUpdate' } as const;
  const status = withPhase(machine.status, { phase: 'InPlaceUpdating' }, operation, now);
  return act(description, { do: 'writeStatus', status }, condition);
}

function blocked({ machine }: MachineObservation, plan: ReturnType<typeof planDrain>, now: Date): Plan {
  const failed = plan.blockers.find((blocker) => blocker.failed);
  const budgets = plan.blockers.flatMap(({ budgets: keys = [] }) => keys);
  const waiting: Plan = {
    actions: [],
    next: nextAt(plan.lookAgainAt),
    because: 'waiting for pods to terminate before the in-place update',
    budgets,
  };
  if (!failed) return waiting;
  const description = `Drain failed due to - ${failed.text}. Will retry in next sync. Initiate node drain`;
  if (machine.status?.lastOperation?.description === description) return waiting;
  const operation = { description, state: 'Processing', type: 'DrainNode' } as const;
  return act(description, { do: 'writeStatus', status: withOperation(machine.status, operation, now) });
}
