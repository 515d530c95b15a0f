import type { RolloutPlan } from '../state/step.ts';
import { type DeploymentSnapshot, viewOf } from '../state/view.ts';

/**
 * The soak time of canaries, or the pause between two batches. The value exists only if nothing else delays the
 * rollout.
 */
export interface Soak {
  readonly endsAt: Date;
  readonly because: string;
}

/** Returns the soak time that delays the plan of the given snapshot. */
export function soakOf(snapshot: DeploymentSnapshot, { because }: Pick<RolloutPlan, 'because'>): Soak | undefined {
  if (snapshot.deployment.spec.paused === true) return undefined;
  const { gate } = viewOf(snapshot);
  return gate?.opensAt !== undefined && gate.because === because ? { endsAt: gate.opensAt, because } : undefined;
}
