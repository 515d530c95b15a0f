import { withoutUndefined } from '@mcm/kube';
import { compareText } from '../../values/integers.ts';
import type { DrainMemory, DrainObservation, DrainPod, VolumeMove } from '../model/observation.ts';
import { verdictOf } from '../model/pod-filters.ts';
import { windowSize } from './volume-window.ts';

type Counts = ReadonlyMap<string, number>;

const later = (instant: Date, ms: number): Date => new Date(instant.getTime() + ms);

const attachedHere = (o: DrainObservation, volumes: readonly string[]): boolean =>
  o.attachments.some(({ volume }) => volumes.includes(volume));

/** The stage of a move of volumes. The move counts toward the volume limit until the time `by`. */
export interface MoveStage {
  readonly isAttached?: true;
  readonly since?: Date;
  readonly by?: Date | undefined;
}

/**
 * Returns the stage of a move, or undefined if the move is complete or no new pod will use the volumes. After the
 * detach timeout, a pod that does not terminate no longer delays other pods.
 */
function stageOf(o: DrainObservation, uid: string, move: VolumeMove): MoveStage | undefined {
  const { goneAt, detachedAt, returns, volumes } = move;
  if (!goneAt) {
    const dueAt = o.pods.find((pod) => pod.uid === uid)?.dueAt;
    return { by: dueAt ? later(dueAt, o.detachTimeoutMs) : undefined };
  }
  if (!detachedAt) return { isAttached: true, since: goneAt, by: later(goneAt, o.detachTimeoutMs) };
  if (!returns || volumes.every((volume) => o.attachedElsewhere.has(volume))) return undefined;
  return { since: detachedAt, by: later(detachedAt, o.reattachTimeoutMs) };
}

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
 * Records when evicted pods with volumes have ended, and when their volumes are detached. The caller must call
 * `trackVolumes` before it plans the drain.
 */
export function trackVolumes(o: DrainObservation, now: Date): DrainMemory {
  const { memory } = o;
  let changed = false;
  const moves = new Map<string, VolumeMove>();
  for (const [uid, move] of memory.moves) {
    const goneAt = move.goneAt ?? (o.pods.some((pod) => pod.uid === uid) ? undefined : now);
    const detachedAt = move.detachedAt ?? (goneAt && !attachedHere(o, move.volumes) ? now : undefined);
    changed ||= goneAt !== move.goneAt || detachedAt !== move.detachedAt;
    moves.set(uid, { ...move, ...withoutUndefined({ goneAt, detachedAt }) });
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
  return { ...rest, moves, emptySince };
}

export const beginMove = (pod: DrainPod): VolumeMove | undefined =>
  pod.volumes.length > 0
    ? {
        pod: { namespace: pod.namespace, name: pod.name, uid: pod.uid },
        volumes: pod.volumes,
        returns: pod.ownerKind !== undefined && pod.phase !== 'Succeeded' && pod.phase !== 'Failed',
      }
    : undefined;

/** Sorts pods by descending priority, and then by name. */
export const byPriority = (a: DrainPod, b: DrainPod): number =>
  b.priority - a.priority || compareText(`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`);

/** Sorts pods for eviction: pods without volumes are first, because their evictions never wait. */
export const byEviction = (a: DrainPod, b: DrainPod): number =>
  Number(beginMove(a) !== undefined) - Number(beginMove(b) !== undefined) || byPriority(a, b);

/**
 * Returns true if a pod may be evicted now.
 * - A pod without volumes, and each pod of a VM that ends soon, may always be evicted.
 * - The limits let a replicated application start its evicted pod on another node before its next pod is evicted.
 */
export function mayMove(o: DrainObservation, pod: DrainPod, now: Date): boolean {
  if (o.urgent || !o.tracksVolumes || !beginMove(pod) || o.memory.moves.has(pod.uid)) return true;
  return admitted(o, now).has(pod.uid);
}

/**
 * Returns the pods that two limits allow to move: the number of moving pods, and the number of volumes that other nodes
 * can attach. If no pod is moving, one pod may always be evicted, so the drain is never slower than a serial drain.
 */
function admitted(o: DrainObservation, now: Date): ReadonlySet<string> {
  const moves = movesUnderWay(o, now).map(({ move }) => move);
  const waiting = o.pods
    .filter((other) => verdictOf(other).pod === 'evict' && beginMove(other) && !o.memory.moves.has(other.uid))
    .sort(byPriority);
  const room = new Map(o.attach?.room);
  for (const { returns, volumes } of moves) if (returns) takeRoom(o, room, volumes);
  const used = usedOf(o, moves);
  const going = new Set<string>();
  for (const pod of waiting.slice(0, Math.max(windowSize(o, now) - moves.length, 0))) {
    if (busyDriver(o, used, pod.volumes) !== undefined) break;
    const fits = !beginMove(pod)?.returns || takeRoom(o, room, pod.volumes);
    if (!fits && (moves.length > 0 || going.size > 0)) break;
    going.add(pod.uid);
    for (const volume of pod.volumes) count(used, o.attach?.driverOf.get(volume));
  }
  return going;
}

function count(used: Map<string, number>, driver: string | undefined): void {
  if (driver !== undefined) used.set(driver, (used.get(driver) ?? 0) + 1);
}

/** Returns the number of volumes that all drains are moving, for each CSI driver with a shared limit. */
function usedOf({ attach }: DrainObservation, moves: readonly VolumeMove[]): Map<string, number> {
  const used = new Map([...(attach?.shared ?? [])].map(([driver, { others }]) => [driver, others]));
  for (const { volumes } of moves) for (const volume of volumes) count(used, attach?.driverOf.get(volume));
  return used;
}

/** If no drain moves a volume of the CSI driver, the volumes of a pod may always move, even above the limit. */
function busyDriver({ attach }: DrainObservation, used: Counts, volumes: readonly string[]): string | undefined {
  const wanted = new Map<string, number>();
  for (const volume of volumes) count(wanted, attach?.driverOf.get(volume));
  for (const [driver, number] of wanted) {
    const shared = attach?.shared?.get(driver);
    const moving = used.get(driver) ?? 0;
    if (shared !== undefined && moving > 0 && moving + number > shared.limit) return driver;
  }
  return undefined;
}

/** Returns the CSI driver whose shared limit delays the pod. */
export function busyDriverOf(o: DrainObservation, pod: DrainPod, now: Date): string | undefined {
  const moves = movesUnderWay(o, now).map(({ move }) => move);
  return windowSize(o, now) <= moves.length ? undefined : busyDriver(o, usedOf(o, moves), pod.volumes);
}

export function busyDriversOf(o: DrainObservation, now: Date): readonly string[] {
  if (o.attach?.shared === undefined) return [];
  const waiting = o.pods.filter((pod) => verdictOf(pod).pod === 'evict' && !o.memory.moves.has(pod.uid));
  return [...new Set(waiting.flatMap((pod) => busyDriverOf(o, pod, now) ?? []))];
}

/** Reserves places for volumes on other nodes, and returns true if each volume has a place. */
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

/** Returns the time at which the next pod may move, or undefined if the pod waits for a change of an object. */
export function nextPlaceAt(o: DrainObservation, now: Date): Date | undefined {
  const instants = movesUnderWay(o, now).flatMap(({ stage: { by } }) => (by ? [by.getTime()] : []));
  return instants.length > 0 ? new Date(Math.min(...instants)) : undefined;
}
