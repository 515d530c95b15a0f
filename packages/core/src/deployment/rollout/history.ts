import type { MachineSet } from '@mcm/api';
import { oldestFirst } from '../../rollout/revisions.ts';

/**
 * Returns the old sets to delete, starting with the oldest, so that at most `limit` sets remain
 * (docs/compatibility/rules-deployments.md §2.8). mcm deletes a set only if the set has no machines and its status is
 * up to date. If one of the oldest sets must stay, more than `limit` sets remain, as in the original.
 * @param machines the number of machines of a set, including terminating machines
 * @param limit `spec.revisionHistoryLimit`, or undefined to keep all sets
 */
export function surplusHistory(
  old: readonly MachineSet[],
  machines: (set: MachineSet) => number,
  limit: number | undefined,
): readonly MachineSet[] {
  if (limit === undefined) return [];
  const candidates = old.filter((set) => set.metadata.deletionTimestamp === undefined).toSorted(oldestFirst);
  const isEmpty = (set: MachineSet) =>
    (set.spec.replicas ?? 0) === 0 &&
    (set.status?.replicas ?? 0) === 0 &&
    machines(set) === 0 &&
    (set.metadata.generation ?? 0) <= (set.status?.observedGeneration ?? 0);
  return candidates.slice(0, Math.max(candidates.length - limit, 0)).filter(isEmpty);
}
