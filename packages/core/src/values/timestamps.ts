import { Annotations, formatTime, type Machine, parseTime } from '@mcm/api';
import { controllerOf } from '@mcm/kube';

/** A stored time as milliseconds since the epoch; an absent or unreadable one is 0, that is: long ago. */
export const millis = (time: string | null | undefined): number => parseTime(time ?? undefined)?.getTime() ?? 0;

/** `start` (a stored time) plus `ms`. */
export const after = (start: string | null | undefined, ms: number): Date => new Date(millis(start) + ms);

/**
 * Until when a machine may join: its creation timeout after it was made. One that nobody replaces and whose VM came only
 * after that, as somebody mended its class, has the same time from then on.
 */
export function joinDeadline(machine: Machine, { creationTimeoutMs }: { creationTimeoutMs: number }): Date {
  const deadline = after(machine.metadata.creationTimestamp, creationTimeoutMs);
  const { phase, lastUpdateTime } = machine.status?.currentStatus ?? {};
  if (phase !== 'Pending' || controllerOf(machine) || millis(lastUpdateTime) <= deadline.getTime()) return deadline;
  return after(lastUpdateTime, creationTimeoutMs);
}

/**
 * Until when an unhealthy machine may recover before it is Failed: longer while its node is said to be updated, which
 * takes reboots.
 */
export function healthDeadline({ metadata, status }: Machine, { healthTimeoutMs }: { healthTimeoutMs: number }): Date {
  const deadline = after(status?.currentStatus?.lastUpdateTime, healthTimeoutMs);
  const updated = parseTime(metadata.annotations?.[Annotations.UpdateInProgressUntil]);
  return updated && updated > deadline ? updated : deadline;
}

/** A time as Go prints it by default, used inside descriptions: `2026-11-21 09:05:06 +0000 UTC`. */
export const goTime = (time: string | null | undefined): string => {
  const text = time ? formatTime(new Date(millis(time))) : '0001-01-01T00:00:00Z';
  return `${text.replace('T', ' ').replace('Z', '')} +0000 UTC`;
};
