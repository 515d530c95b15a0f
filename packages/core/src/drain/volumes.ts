import type { Blocker } from './drain.ts';
import type { DrainMemory, DrainObservation, DrainPod, VolumeMove } from './observation.ts';
import { verdictOf } from './pod-filters.ts';
import { windowSize } from './volume-window.ts';

const later = (instant: Date, ms: number): Date => new Date(instant.getTime() + ms);

const earliest = (a: Date, b: Date): Date => (b < a ? b : a);

const attachedHere = (o: DrainObservation, volumes: readonly string[]): boolean =>
  o.attachments.some(({ volume }) => volumes.includes(volume));

/** Whether a move still occupies a place in the window at `now`. */
function isUnderWay(o: DrainObservation, move: VolumeMove, now: Date): boolean {
  if (!move.goneAt) return true;
  if (!move.detachedAt) return now < later(move.goneAt, o.detachTimeoutMs);
  if (!move.returns || move.volumes.every((volume) => o.attachedElsewhere.has(volume))) return false;
  return now < later(move.detachedAt, o.reattachTimeoutMs);
}

/**
 * Notes what has become of the pods with volumes that were asked to go: gone, their volumes detached. To be called
 * before each look; the same object comes back when nothing has changed.
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
  const moves = [...o.memory.moves.values()].filter((move) => isUnderWay(o, move, now));
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
  const instants = [...o.memory.moves.values()]
    .filter((move) => move.goneAt && isUnderWay(o, move, now))
    .map((move) =>
      move.detachedAt ? later(move.detachedAt, o.reattachTimeoutMs) : later(move.goneAt ?? now, o.detachTimeoutMs),
    );
  return instants.length > 0 ? new Date(Math.min(...instants.map((instant) => instant.getTime()))) : undefined;
}

const DETACH_CURE = 'its VolumeAttachment has to go: see the CSI driver; the detach timeout ends the wait';

const IN_USE_CURE = 'its kubelet has to unmount it: see the log of the kubelet; the detach timeout ends the wait';

/** A volume that is off the node sooner is not worth a status write. */
const NAMED_AFTER_MS = 10_000;

/**
 * With all pods gone: the volumes they used must be off the node before its VM goes, or the cloud tears them away.
 * Volumes of pods that stay (DaemonSets) are not waited for, nor is anything beyond the detach timeout.
 */
export function planVolumes(
  o: DrainObservation,
  now: Date,
): { readonly blockers: readonly Blocker[]; readonly waits: boolean; readonly until?: Date } {
  const staying = new Set(o.pods.flatMap((pod) => pod.volumes));
  const attached = o.attachments.filter(({ volume }) => !staying.has(volume));
  const emptySince = o.memory.emptySince ?? now;
  const until = later(emptySince, o.detachTimeoutMs);
  if (attached.length === 0 || now >= until) return { blockers: [], waits: false };
  const namedAt = later(emptySince, NAMED_AFTER_MS);
  if (now < namedAt) return { blockers: [], waits: true, until: earliest(namedAt, until) };
  const blockers = attached.map(({ volume, inUse }) => ({
    text: `volume ${volume} is still ${inUse ? 'in use' : 'attached'}`,
    failed: false,
    cure: inUse ? IN_USE_CURE : DETACH_CURE,
  }));
  return { blockers, waits: true, until };
}
