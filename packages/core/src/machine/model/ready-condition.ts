import { formatTime, type MachineStatus, NodeConditions } from '@mcm/api';
import type { MachineObservation } from './observation.ts';
import type { Action, Plan } from './plan.ts';

/**
 * Adds the condition `Ready` to a machine without a Node. Without the condition `Ready`, the library kstatus would
 * report a machine without a Node as current.
 */
function withReady(status: MachineStatus, now: Date): MachineStatus {
  const { currentStatus, lastOperation, conditions = [] } = status;
  const phase = currentStatus?.phase;
  if (phase === undefined || phase === 'Running' || conditions.some(({ type }) => type !== NodeConditions.Ready))
    return status;
  const before = conditions.find((condition) => condition.status === 'False');
  const ready = {
    type: NodeConditions.Ready,
    status: 'False',
    reason: phase,
    message: lastOperation?.description ?? '',
    lastTransitionTime: before?.lastTransitionTime ?? formatTime(now),
  } as const;
  return { ...status, conditions: [ready] };
}

export const withReadyCondition = (plan: Plan, { machine, node }: MachineObservation, now: Date): Plan =>
  node === undefined && machine.metadata.deletionTimestamp === undefined
    ? { ...plan, actions: plan.actions.map((action): Action => readyStatus(action, now)) }
    : plan;

const readyStatus = (action: Action, now: Date): Action =>
  action.do === 'writeStatus' ? { ...action, status: withReady(action.status, now) } : action;
