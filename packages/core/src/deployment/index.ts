export { type Limits, limitsOf } from './limits.ts';
export { type DeploymentSnapshot, type NodeMarks, planRollout, type RolloutPlan } from './plan.ts';
export { isComplete } from './progress.ts';
export { createDeploymentController, type DeploymentOptions, DeploymentReconciler } from './reconciler.ts';
export { lastRevision, revisionOf, type Sets, splitSets } from './revisions.ts';
export {
  type ParsedScaleIn,
  parseScaleIn,
  type ScaleIn,
  ScaleInReasons,
  type ScaleInResult,
  scaleInResults,
} from './scale-in.ts';
export { hashSuffix, sameTemplate, templateHash } from './template-hash.ts';
export { type Violation, validateDeployment, validateSet } from './validation.ts';
