export { FORCED, type PolicyChoice, type UndrainablePolicy, undrainablePolicyOf } from '../settings/undrainable.ts';
export { type DrainPlan, planDrain } from './drain.ts';
export { type DrainExplanation, type ExplainedPod, explainDrain } from './explain.ts';
export type { Blocker } from './model/blockers.ts';
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
} from './model/observation.ts';
export { POD_FILTERS, type PodFilter, type Verdict as PodVerdict, verdictOf } from './model/pod-filters.ts';
export { type FollowedDrain, type FollowOptions, followDrain, type PreviewOptions, previewDrain } from './preview.ts';
