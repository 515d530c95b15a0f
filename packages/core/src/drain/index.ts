export type { Blocker } from './blockers.ts';
export { type DrainPlan, planDrain } from './drain.ts';
export { type DrainExplanation, type ExplainedPod, explainDrain } from './explain.ts';
export {
  type Attachment,
  type Attempt,
  type DrainBudget,
  type DrainMemory,
  type DrainObservation,
  type DrainPod,
  NO_DRAIN_MEMORY,
  type PodRef,
  type VolumeMove,
} from './observation.ts';
export { POD_FILTERS, type PodFilter, type Verdict as PodVerdict, verdictOf } from './pod-filters.ts';
export { type FollowedDrain, type FollowOptions, followDrain, type PreviewOptions, previewDrain } from './preview.ts';
export { FORCED, type PolicyChoice, type UndrainablePolicy, undrainablePolicyOf } from './undrainable.ts';
