export { type Limits, limitsOf } from '../objects/limits.ts';
export { type Violation, validateSet } from '../objects/violations.ts';
export { reportedCanaryPods } from '../rollout/canary-pods.ts';
export { previousRevision, revisionOf, type Sets, splitSets } from '../rollout/revisions.ts';
export { isComplete } from '../rollout/rollout-completion.ts';
export { keptInPause, notedNames } from '../rollout/rollout-gate.ts';
export { hashSuffix, sameTemplate, templateHash } from '../rollout/template-hash.ts';
export { stopsOnFailedUpdate } from '../settings/failed-updates.ts';
export type { DeploymentOptions } from './execution.ts';
export { planRollout } from './plan.ts';
export { createDeploymentController, DeploymentReconciler } from './reconciler.ts';
export { reportedBudgetHold } from './rollout/fleet-budget.ts';
export { type Soak, soakOf } from './rollout/soak.ts';
export { type ExpiringMark, expiringMarks } from './scaling/mark-expiry.ts';
export {
  type ParsedScaleIn,
  parseScaleIn,
  type ScaleIn,
  ScaleInReasons,
  type ScaleInResult,
  scaleInResults,
} from './scaling/scale-in.ts';
export { PlanRefused } from './state/guard.ts';
export type { NodeMarks } from './state/node-marks.ts';
export type { RolloutPlan } from './state/step.ts';
export type { DeploymentSnapshot } from './state/view.ts';
export { validateDeployment } from './validation.ts';
export { createBufferCaches, createBufferController } from './warm/buffers.ts';
