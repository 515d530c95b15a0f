export { type PlannedPool, planPools } from './arbiter.ts';
export { type BreakerVerdict, judgeRollout } from './breaker.ts';
export { type CanaryVerdict, judgeCanaries } from './canary.ts';
export { byZoneAndAge, type Candidates, candidatesOf, chooseNodes } from './candidates.ts';
export type { PlannedEvent } from './conditions.ts';
export { conditionOf, isTrue, type WantedCondition, withCondition } from './conditions.ts';
export { labelsOfBootPool, labelsOfSelector } from './custom-boot.ts';
export { deferOperatorNode } from './defer.ts';
export { explainPool, type NodeStanding, type PoolExplanation } from './explain.ts';
export { MaxUnavailableError, maxUnavailableOf } from './max-unavailable.ts';
export { MembershipError, nodesOfPool, poolsOfNode, primaryFirst } from './membership.ts';
export {
  type CandidateFilter,
  type Deferred,
  type NodeWrite,
  type PoolPlan,
  type PoolSnapshot,
  planPool,
} from './plan.ts';
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
} from './predicates.ts';
export { type PoolSources, poolSnapshot, type SnapshotOptions } from './snapshot.ts';
export { type MemberFacts, poolStatus, type StatusFacts } from './status.ts';
export { wantedTaints } from './taints.ts';
export { matters, poolsToWake } from './wakeups.ts';
