export { planNodeMark } from './orphan-nodes.ts';
export { isOrphan } from './orphan-vms.ts';
export { ORPHAN_DEFAULTS, type OrphanOptions } from './orphans.ts';
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
