import type { DrainMemory, DrainObservation, DrainPod, VolumeMove } from '../model/observation.ts';
import { verdictOf } from '../model/pod-filters.ts';
import { windowSize } from './volume-window.ts';

const later = (instant: Date, ms: number): Date => new Date(instant.getTime() + ms);

const attachedHere = (o: DrainObservation, volumes: readonly string[]): boolean =>
  o.attachments.some(({ volume }) => volumes.includes(volume));

/** What a move waits for; `by`: how long it keeps its place in the window, absent when nobody can tell yet. */
export interface MoveStage {
  readonly at: 'pod' | 'detach' | 'attach';
  readonly since?: Date;
  readonly by?: Date;
}

/**
 * What a pod with volumes on its way waits for; undefined: it has arrived, or comes back nowhere. One that does not end
 * keeps its place no longer than its volumes would: the others are not to wait for it till the end of the drain.
 */
export function stageOf(o: DrainObservation, uid: string, move: VolumeMove): MoveStage | undefined {
  const { goneAt, detachedAt, returns, volumes } = move;
  if (!goneAt) {
    const dueAt = o.pods.find((pod) => pod.uid === uid)?.dueAt;
    return { at: 'pod', ...(dueAt ? { by: later(dueAt, o.detachTimeoutMs) } : {}) };
  }
  if (!detachedAt) return { at: 'detach', since: goneAt, by: later(goneAt, o.detachTimeoutMs) };
  if (!returns || volumes.every((volume) => o.attachedElsewhere.has(volume))) return undefined;
  return { at: 'attach', since: detachedAt, by: later(detachedAt, o.reattachTimeoutMs) };
}

/** The moves that occupy a place in the window at `now`, with what each waits for. */
export function movesUnderWay(
  o: DrainObservation,
  now: Date,
): readonly { readonly move: VolumeMove; readonly stage: MoveStage }[] {
  return [...o.memory.moves].flatMap(([uid, move]) => {
    const stage = stageOf(o, uid, move);
    return stage && (!stage.by || now < stage.by) ? [{ move, stage }] : [];
  });
}

/**
 * Notes what has become of the pods with volumes that were asked to go: gone, their volumes detached. A pod that somebody
 * else ends, or a former process of ours, is on its way like one of this drain's. To be called before each look; the same
 * object comes back when nothing has changed.
 */
export function trackVolumes(o: DrainObservation, now: Date): DrainMemory {
  const { memory } = o;
  let changed = false;
  const moves = new Map<string, VolumeMove>();
  for (const [uid, move] of memory.moves) {
    const goneAt = move.goneAt ?? (o.pods.some((pod) => pod.uid === uid) ? undefined : now);
    const detachedAt = move.detachedAt ?? (goneAt && !attachedHere(o, move.volumes) ? now : undefined);
    changed ||= goneAt !== move.goneAt || detachedAt !== move.detachedAt;
    moves.set(uid, { ...move, ...(goneAt ? { goneAt } : {}), ...(detachedAt ? { detachedAt } : {}) });
  }
  for (const pod of o.pods) {
    const move = verdictOf(pod).pod === 'leaving' && !moves.has(pod.uid) ? beginMove(pod) : undefined;
    if (!move) continue;
    moves.set(pod.uid, move);
    changed = true;
  }
  const empty = o.pods.every((pod) => verdictOf(pod).pod === 'stay');
  const emptySince = empty ? (memory.emptySince ?? now) : undefined;
  if (!changed && emptySince === memory.emptySince) return memory;
  const { emptySince: _, ...rest } = memory;
  return { ...rest, moves, ...(emptySince ? { emptySince } : {}) };
}

/** The move that begins when a pod with volumes was asked to go. */
export const beginMove = (pod: DrainPod): VolumeMove | undefined =>
  pod.hasClaims && pod.volumes.length > 0
    ? {
        pod: { namespace: pod.namespace, name: pod.name, uid: pod.uid },
        volumes: pod.volumes,
        returns: pod.ownerKind !== undefined && pod.phase !== 'Succeeded' && pod.phase !== 'Failed',
      }
    : undefined;

/** Higher priority leaves first; then by name, so that every look sees the same order. */
export const byPriority = (a: DrainPod, b: DrainPod): number =>
  b.priority - a.priority || (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1);

/**
 * Whether a pod may be asked to go now. Pods without volumes of their own always may. Those with volumes go a few at
 * a time, each when the volumes of one before are attached elsewhere: clouds attach slowly, and an application that
 * replicates should have its pod back before the next one leaves.
 */
export function mayMove(o: DrainObservation, pod: DrainPod, now: Date): boolean {
  if (!o.tracksVolumes || !beginMove(pod) || o.memory.moves.has(pod.uid)) return true;
  return admitted(o, now).has(pod.uid);
}

/**
 * Pods that may begin to move now: by priority, as many as the window has places and the CSI drivers can attach to
 * other nodes. One may go whenever none is under way, so that no limit makes a drain slower than a serial one.
 */
function admitted(o: DrainObservation, now: Date): ReadonlySet<string> {
  const moves = movesUnderWay(o, now).map(({ move }) => move);
  const waiting = o.pods
    .filter((other) => verdictOf(other).pod === 'evict' && beginMove(other) && !o.memory.moves.has(other.uid))
    .sort(byPriority);
  const room = new Map(o.attach?.room);
  for (const { returns, volumes } of moves) if (returns) takeRoom(o, room, volumes);
  const going = new Set<string>();
  for (const pod of waiting.slice(0, Math.max(windowSize(o, now) - moves.length, 0))) {
    const fits = !beginMove(pod)?.returns || takeRoom(o, room, pod.volumes);
    if (!fits && (moves.length > 0 || going.size > 0)) break;
    going.add(pod.uid);
  }
  return going;
}

/** Takes room for the volumes; false when a driver has not enough of it. */
function takeRoom({ attach }: DrainObservation, room: Map<string, number>, volumes: readonly string[]): boolean {
  let fits = true;
  for (const volume of volumes) {
    const driver = attach?.driverOf.get(volume);
    const left = driver === undefined ? undefined : room.get(driver);
    if (driver === undefined || left === undefined) continue;
    fits &&= left > 0;
    room.set(driver, left - 1);
  }
  return fits;
}

/** When the next place in the window becomes free by time alone. */
export function nextPlaceAt(o: DrainObservation, now: Date): Date | undefined {
  const instants = movesUnderWay(o, now).flatMap(({ stage: { by } }) => (by ? [by.getTime()] : []));
  return instants.length > 0 ? new Date(Math.min(...instants)) : undefined;
}
