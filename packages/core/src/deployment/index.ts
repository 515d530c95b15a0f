export type { DeploymentOptions } from './execution.ts';
export { PlanRefused } from './guard.ts';
export { type Limits, limitsOf } from './limits.ts';
export { planRollout } from './plan.ts';
export { isComplete } from './progress.ts';
export { createDeploymentController, DeploymentReconciler } from './reconciler.ts';
export { lastRevision, revisionOf, type Sets, splitSets } from './revisions.ts';
export { notedNames } from './rollout-gate.ts';
export {
  type ParsedScaleIn,
  parseScaleIn,
  type ScaleIn,
  ScaleInReasons,
  type ScaleInResult,
  scaleInResults,
} from './scale-in.ts';
export type { NodeMarks, RolloutPlan } from './step.ts';
export { hashSuffix, sameTemplate, templateHash } from './template-hash.ts';
export { type Violation, validateDeployment, validateSet } from './validation.ts';
export type { DeploymentSnapshot } from './view.ts';
