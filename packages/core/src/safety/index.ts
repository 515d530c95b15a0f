export { isOrphan, ORPHAN_DEFAULTS, type OrphanOptions, planNodeMark } from './orphans.ts';
export {
  createOvershootController,
  judgeSet,
  type OvershootOptions,
  OvershootReconciler,
  type Thresholds,
  thresholds,
  type Verdict,
} from './overshoot.ts';
export { REACHABILITY_DEFAULTS, type ReachabilityTimings, stepReachability } from './reachability.ts';
