export {
  createOvershootController,
  judgeSet,
  type OvershootOptions,
  OvershootReconciler,
  type Thresholds,
  thresholds,
  type Verdict,
} from './overshoot.ts';
