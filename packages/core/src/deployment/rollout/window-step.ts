import { nextLook } from '../../rollout/windows/state.ts';
import { isScalingEvent, planScaling } from '../scaling/scaling.ts';
import { grown } from '../state/growth.ts';
import { allOf, isActive, maximumMachines, type Resize, sum } from '../state/size.ts';
import type { Step } from '../state/step.ts';
import type { View } from '../state/view.ts';
import { growthOf } from './strategy-steps.ts';

function completed({ sizes, limits, ...view }: View): Resize {
  const { replicas } = view;
  const missing = replicas - sum(allOf(sizes), (size) => size.replicas);
  const room = replicas + limits.surge - sum(allOf(sizes), maximumMachines);
  return grown(sizes, Math.max(Math.min(missing, room), 0), growthOf(view));
}

/**
 * Returns true if a stop would leave the deployment without machines, because the strategy Recreate has already removed
 * the old machines.
 */
const mustContinue = ({ deployment, sizes }: View): boolean =>
  deployment.spec.strategy?.type === 'Recreate' && !sizes.old.some(isActive);

/**
 * Outside of a maintenance window, mcm deletes or updates no machine because of a new template. mcm still scales the
 * sets and replaces failed machines.
 * @param inPlace steps that complete an in-place update that has already started
 * @returns undefined if the rollout may continue
 */
export function windowStep(
  view: View,
  inPlace: { readonly moved: () => Step | undefined; readonly complete: () => Step },
): Step | undefined {
  const { closed, deployment, sizes, limits, now, replicas } = view;
  if (closed === undefined || mustContinue(view)) return undefined;
  const wait = {
    because: closed.because,
    measureProgress: false,
    lookAgainAt: nextLook(closed.opensAt, now),
  };
  const moved = inPlace.moved();
  if (moved) return { ...moved, measureProgress: false };
  if (sizes.current === undefined || isScalingEvent(sizes, replicas)) {
    const scaling = planScaling(sizes, {
      ...growthOf(view),
      limits,
      strategy: deployment.spec.strategy?.type,
      statusReplicas: deployment.status?.replicas ?? 0,
      paused: true,
    });
    const changes = allOf(sizes).some((size) => (scaling.resize.get(size.name) ?? size.replicas) !== size.replicas);
    return { ...scaling, ...wait, because: changes ? scaling.because : wait.because };
  }
  if (deployment.spec.strategy?.type === 'InPlaceUpdate') return { ...inPlace.complete(), ...wait };
  return { ...wait, resize: deployment.spec.strategy?.type === 'RollingUpdate' ? completed(view) : new Map() };
}
