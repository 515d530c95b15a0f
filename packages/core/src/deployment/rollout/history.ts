import type { MachineSet } from '@mcm/api';
import { oldestFirst } from '../../rollout/revisions.ts';

/**
 * Old sets to delete, the oldest first, so that at most `limit` are kept (docs/compatibility/rules-deployments.md §2.8). Only empty ones whose status is
 * current; others are passed over without a substitute, as in the original.
 *
 * @param machines How many machines a set has, deleting ones included.
 * @param limit `spec.revisionHistoryLimit`; absent: all are kept.
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
