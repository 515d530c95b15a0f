import type { Plain } from '../../../apimachinery/objects/plain.ts';
import { isReady } from '../../objects/fields.ts';
import { availability, minReadySecondsOf } from '../pods.ts';
import { isUpdated } from './node.ts';
import { byAge, type DaemonView } from './plan.ts';

/**
 * Returns the status of a DaemonSet, as `updateDaemonSetStatus` in Kubernetes. `lookAgainAt` is the time at which the
 * next pod becomes available.
 */
export function daemonStatus(view: DaemonView): { status: Plain; lookAgainAt: Date | undefined } {
  const { set, hash, now } = view;
  const counts = { desired: 0, current: 0, misplaced: 0, ready: 0, updated: 0, available: 0 };
  let lookAgainAt: Date | undefined;
  for (const [node, { runs }] of view.placements) {
    const [pod] = byAge(view.podsOn.get(node) ?? []);
    if (runs) counts.desired++;
    if (pod === undefined) continue;
    if (!runs) {
      counts.misplaced++;
      continue;
    }
    counts.current++;
    if (isUpdated(set, hash, pod)) counts.updated++;
    if (!isReady(pod)) continue;
    counts.ready++;
    const { available, at } = availability(pod, minReadySecondsOf(set), now);
    if (available) counts.available++;
    else if (at !== undefined && (lookAgainAt === undefined || at < lookAgainAt)) lookAgainAt = at;
  }
  const status = {
    observedGeneration: set.metadata.generation ?? 0,
    desiredNumberScheduled: counts.desired,
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misplaced,
    numberReady: counts.ready,
    updatedNumberScheduled: counts.updated,
    numberAvailable: counts.available,
    numberUnavailable: counts.desired - counts.available,
  };
  return { status, lookAgainAt };
}
