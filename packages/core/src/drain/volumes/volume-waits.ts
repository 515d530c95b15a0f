import { formatDurationMs, formatTime } from '@mcm/api';
import { type Blocker, nameOf } from '../model/blockers.ts';
import type { Attachment, DrainObservation, VolumeMove } from '../model/observation.ts';
import { movesUnderWay } from './volumes.ts';

export interface VolumeWaits {
  readonly blockers: readonly Blocker[];
  readonly waits: boolean;
  readonly until?: Date | undefined;
}

export const NO_VOLUMES: VolumeWaits = { blockers: [], waits: false };

const DETACH_HINT = 'check the VolumeAttachment and the CSI driver; the detach timeout ends the wait';

const IN_USE_HINT = 'the kubelet must unmount the volume, so check the kubelet log; the detach timeout ends the wait';

const REATTACH_HINT = 'check the events of the new pod on another node; the re-attach timeout ends the wait';

const NAMED_AFTER_MS = 10_000;

const later = (instant: Date, ms: number): Date => new Date(instant.getTime() + ms);

interface Wait {
  readonly since: Date;
  readonly by: Date;
  readonly blocker: Blocker;
}

/** mcm does not report a short wait for a volume. */
function reported(waits: readonly Wait[], now: Date): VolumeWaits {
  const named = waits.filter(({ since }) => now >= later(since, NAMED_AFTER_MS));
  const instants = waits.flatMap(({ since, by }) => [later(since, NAMED_AFTER_MS), by].filter((at) => now < at));
  const times = instants.map((instant) => instant.getTime());
  return {
    blockers: named.map(({ blocker }) => blocker),
    waits: waits.length > 0,
    until: times.length > 0 ? new Date(Math.min(...times)) : undefined,
  };
}

const ofPod = (move: VolumeMove | undefined): string => (move ? ` of pod ${nameOf(move.pod)}` : '');

const attachedBlocker = ({ volume, inUse }: Attachment, move: VolumeMove | undefined, by: Date): Blocker => ({
  text: `volume ${volume}${ofPod(move)} is still ${inUse ? 'in use' : 'attached'}; mcm waits until ${formatTime(by)}`,
  failed: false,
  hint: inUse ? IN_USE_HINT : DETACH_HINT,
});

const reattachBlocker = (volume: string, move: VolumeMove, by: Date): Blocker => ({
  text: `volume ${volume}${ofPod(move)} is not attached to another node yet; mcm waits until ${formatTime(by)}`,
  failed: false,
  hint: REATTACH_HINT,
});

/** Returns the volumes for which further evictions wait, because the volumes are not attached to another node yet. */
export function waitForMoves(o: DrainObservation, now: Date): VolumeWaits {
  const waits = movesUnderWay(o, now).flatMap(({ move, stage: { isAttached, since, by } }): Wait[] => {
    if (!since || !by) return [];
    const blockers = isAttached
      ? o.attachments.filter(({ volume }) => move.volumes.includes(volume)).map((one) => attachedBlocker(one, move, by))
      : move.volumes
          .filter((volume) => !o.attachedElsewhere.has(volume))
          .map((volume) => reattachBlocker(volume, move, by));
    return blockers.map((blocker) => ({ since, by, blocker }));
  });
  return reported(waits, now);
}

interface LeftBehind {
  readonly attachment: Attachment;
  readonly move: VolumeMove | undefined;
  readonly since: Date;
  readonly by: Date;
}

/** Returns the volumes that are still attached after the end of their pods, except for pods that the drain ignores. */
function leftBehind(o: DrainObservation, now: Date): readonly LeftBehind[] {
  const used = new Set(o.pods.flatMap((pod) => pod.volumes));
  const moves = [...o.memory.moves.values()];
  return o.attachments
    .filter(({ volume }) => !used.has(volume))
    .map((attachment) => {
      const move = moves.findLast(({ volumes }) => volumes.includes(attachment.volume));
      const since = move?.goneAt ?? o.memory.emptySince ?? now;
      return { attachment, move, since, by: later(since, o.detachTimeoutMs) };
    });
}

/**
 * Returns the waits for volumes that are still attached after the end of all pods. If mcm deleted the VM before the
 * volumes are detached, the cloud would detach them by force.
 */
export function waitForVolumes(o: DrainObservation, now: Date): VolumeWaits {
  const waits = leftBehind(o, now)
    .filter(({ by }) => now < by)
    .map(({ attachment, move, since, by }) => ({ since, by, blocker: attachedBlocker(attachment, move, by) }));
  return reported(waits, now);
}

/** Returns the late volumes. The drain no longer waits for late volumes, and reports each late volume once. */
export function volumesLeft(o: DrainObservation, now: Date): readonly Blocker[] {
  return leftBehind(o, now)
    .filter(({ move, by }) => (move?.goneAt || o.memory.emptySince) && now >= by)
    .map(({ attachment: { volume, inUse }, move }) => ({
      text: `volume ${volume}${ofPod(move)} is still ${inUse ? 'in use' : 'attached'} after ${formatDurationMs(o.detachTimeoutMs)}`,
      failed: false,
      hint: inUse ? 'check the log of the kubelet on the node' : 'check the VolumeAttachment and the CSI driver',
      event: { reason: 'VolumeStaysAttached', cause: `volume ${volume}` },
    }));
}
