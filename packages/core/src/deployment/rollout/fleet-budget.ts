import { Annotations, type MachineDeployment, MachineDeploymentConditions } from '@mcm/api';
import type { RolloutNeeds, RolloutPermit } from '@mcm/kube';
import { findCondition } from '../../objects/conditions.ts';
import type { ClosedBudget } from '../../rollout/windows/state.ts';
import type { RolloutPlan } from '../state/step.ts';

const REASON = 'RolloutBudget';

/**
 * Returns a closed window if the rollout budget stops disruptions by rollouts. While the rollout budget stops rollouts,
 * mcm continues to replace failed machines.
 */
export function closedByBudget(rollouts: RolloutPermit | undefined): ClosedBudget | undefined {
  const hold = rollouts?.hold();
  return hold && { reason: REASON, opensAt: undefined, because: hold.because, brief: hold.asked };
}

/** If the status of the deployment names the rollout budget, returns the reason why the rollout waits. */
export function reportedBudgetHold({ status }: Pick<MachineDeployment, 'status'>): ClosedBudget | undefined {
  const waiting = findCondition(status?.conditions ?? [], MachineDeploymentConditions.RolloutWaiting);
  if (waiting?.reason !== REASON) return undefined;
  const because = (waiting.message ?? '').replace('The rollout waits: ', 'waiting: ').replace(/\.$/, '');
  return { reason: REASON, opensAt: undefined, because, brief: false };
}

/**
 * While a rollout waits for its maintenance window or for nodes, it needs no claim to the rollout budget. Another
 * cluster can then use the rollout budget. A paused rollout needs a claim until its last disruption is complete.
 */
export function needsOf(
  { metadata, spec }: MachineDeployment,
  { unfinished, problems, repairs, pause }: RolloutPlan,
): RolloutNeeds {
  const waiting = problems.conditions.find(({ type }) => type === MachineDeploymentConditions.RolloutWaiting);
  const acts = spec.paused !== true && (waiting === undefined || waiting.reason === REASON);
  const { leaving, underWay } = repairs.budget;
  return {
    wants: unfinished && acts && pause === undefined,
    settled: !unfinished || leaving + underWay === 0,
    rollout: stateOf(unfinished, pause?.undoTo !== undefined, pause !== undefined || isPausedByFailure(metadata, spec)),
  };
}

const isPausedByFailure = ({ annotations }: MachineDeployment['metadata'], { paused }: MachineDeployment['spec']) =>
  paused === true && annotations?.[Annotations.RolloutPausedBy] !== undefined;

function stateOf(unfinished: boolean, undoes: boolean, failed: boolean): RolloutNeeds['rollout'] {
  if (undoes) return 'undoing';
  if (!unfinished) return 'none';
  return failed ? 'failed' : 'rolling';
}
