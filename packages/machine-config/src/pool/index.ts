export type { PlannedEvent } from '../conditions/conditions.ts';
export { conditionOf, isTrue, type WantedCondition, withCondition } from '../conditions/conditions.ts';
export {
  degradedReason,
  isDegraded,
  isDone,
  isFailing,
  isManaged,
  isReady,
  isTargeted,
  isUnavailable,
  isUpdated,
  isUpdatedAndReady,
  needsTarget,
  notReadyReason,
  targetOf,
} from '../conditions/predicates.ts';
export { type PlannedPool, planPools } from './arbiter.ts';
export { explainPool, type NodeStanding, type PoolExplanation } from './explain.ts';
export { MembershipError, nodesOfPool, poolsOfNode, primaryFirst } from './membership.ts';
export type { CandidateFilter, Deferred, MemberFacts, PoolSnapshot } from './model/snapshot.ts';
export { wantedTaints } from './model/taints.ts';
export { type NodeWrite, type PoolPlan, planPool } from './plan.ts';
export { type BreakerVerdict, evaluateRollout } from './rollout/breaker.ts';
export { type CanaryVerdict, evaluateCanaries } from './rollout/canary.ts';
export { byZoneAndAge, type Candidates, candidatesOf, chooseNodes } from './rollout/candidates.ts';
export { labelsOfBootPool, labelsOfSelector } from './rollout/custom-boot.ts';
export { deferOperatorNode } from './rollout/defer.ts';
export { MaxUnavailableError, maxUnavailableOf } from './rollout/max-unavailable.ts';
export { type PoolSources, poolSnapshot, type SnapshotOptions } from './snapshot.ts';
export { poolStatus, type StatusFacts } from './status.ts';
export { matters, poolsToWake } from './wakeups.ts';
