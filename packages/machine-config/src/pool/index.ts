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
export { explainPool, type NodeStanding, type PoolExplanation } from './explain.ts';
export { MembershipError, nodesOfPool, poolsOfNode, primaryFirst } from './membership.ts';
export { wantedTaints } from './model/taints.ts';
export {
  type CandidateFilter,
  type Deferred,
  type NodeWrite,
  type PoolPlan,
  type PoolSnapshot,
  planPool,
} from './plan.ts';
export { type PlannedPool, planPools } from './rollout/arbiter.ts';
export { type BreakerVerdict, evaluateRollout } from './rollout/breaker.ts';
export { type CanaryVerdict, evaluateCanaries } from './rollout/canary.ts';
export { byZoneAndAge, type Candidates, candidatesOf, chooseNodes } from './rollout/candidates.ts';
export { labelsOfBootPool, labelsOfSelector } from './rollout/custom-boot.ts';
export { deferOperatorNode } from './rollout/defer.ts';
export { MaxUnavailableError, maxUnavailableOf } from './rollout/max-unavailable.ts';
export { type PoolSources, poolSnapshot, type SnapshotOptions } from './snapshot.ts';
export { type MemberFacts, poolStatus, type StatusFacts } from './status.ts';
export { matters, poolsToWake } from './wakeups.ts';
