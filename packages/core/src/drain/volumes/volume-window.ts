import type { DrainObservation } from '../model/observation.ts';

export const FAST_MS = 30_000;

/**
 * Returns the number of pods with volumes that may move at the same time.
 * - A detach that takes at least half of the detach timeout halves the window, because the cloud probably throttles
 * calls.
 * - The volume window is at least one, as in the original, and at most `volumeWindow`.
 */
export function windowSize(o: DrainObservation, now: Date): number {
  const gone = [...o.memory.moves.values()].flatMap(({ goneAt, detachedAt }) =>
    goneAt
      ? [{ at: (detachedAt ?? now).getTime(), tookMs: (detachedAt ?? now).getTime() - goneAt.getTime(), detachedAt }]
      : [],
  );
  let size = 1;
  for (const { tookMs, detachedAt } of gone.toSorted((a, b) => a.at - b.at)) {
    if (tookMs >= o.detachTimeoutMs / 2) size = Math.max(1, Math.floor(size / 2));
    else if (detachedAt && tookMs <= FAST_MS) size = Math.min(o.volumeWindow, size + 1);
  }
  return size;
}
