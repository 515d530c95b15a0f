export { planNodeMark } from './orphan-nodes.ts';
export { isOrphan } from './orphan-vms.ts';
export { ORPHAN_DEFAULTS, type OrphanOptions } from './orphans.ts';
export { createOvershootController, OvershootReconciler } from './overshoot.ts';
export { judgeSet, type OvershootOptions, type Thresholds, thresholds, type Verdict } from './overshoot-rules.ts';
export { quarantinedVms } from './quarantine.ts';
export { REACHABILITY_DEFAULTS, type ReachabilityTimings, stepReachability } from './reachability.ts';
