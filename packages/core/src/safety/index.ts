export { DisruptionReport } from '../disruption/report/report.ts';
export { REACHABILITY_DEFAULTS, type ReachabilityTimings, stepReachability } from '../machine/health/reachability.ts';
export { createDisruptionController, DISRUPTIONS } from './disruptions/controller.ts';
export { planNodeMark } from './orphans/orphan-nodes.ts';
export { ORPHAN_DEFAULTS, type OrphanOptions } from './orphans/orphan-options.ts';
export { isOrphan } from './orphans/orphan-vms.ts';
export { quarantinedVms } from './orphans/quarantine.ts';
export { stoppedVms } from './orphans/stopped-vms.ts';
export { createOvershootController, OvershootReconciler } from './overshoot/overshoot.ts';
export {
  decideSet,
  type OvershootOptions,
  type Thresholds,
  thresholds,
  type Verdict,
} from './overshoot/overshoot-rules.ts';
