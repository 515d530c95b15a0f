import type { DrainObservation } from '../model/observation.ts';

/** A volume that is detached this soon after its pod ended counts as fast. */
const FAST_MS = 30_000;

/**
 * Returns how many pods with volumes may move at once: one at first, one more for each fast detach, half as many after
 * a detach that took half of the detach timeout, which indicates a throttled cloud. The result is between one, as in
 * the original, and `volumeWindow`. It depends only on the moves of this drain; a new process begins with one.
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
