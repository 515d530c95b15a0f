export { type Violation, validateSet } from '../set/violations.ts';
export { isComplete } from './arrival.ts';
export type { DeploymentOptions } from './execution.ts';
export { PlanRefused } from './guard.ts';
export { type Limits, limitsOf } from './limits.ts';
export type { NodeMarks } from './node-marks.ts';
export { planRollout } from './plan.ts';
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
export type { RolloutPlan } from './step.ts';
export { hashSuffix, sameTemplate, templateHash } from './template-hash.ts';
export { validateDeployment } from './validation.ts';
export type { DeploymentSnapshot } from './view.ts';
