import type { DrainObservation } from '../model/observation.ts';

/** A volume that is off the node this soon after its pod ended came off fast. */
const FAST_MS = 30_000;

/**
 * How many pods with volumes may be on their way at once: one at first, one more for each whose volumes came off fast,
 * half as many for each that took half of the detach timeout, which is how a throttled cloud shows. Between one, which
 * is the original's pace, and `volumeWindow`. From this drain's own moves alone; a new process begins with one.
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
