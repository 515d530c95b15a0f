import { Annotations, formatTime, type Machine, parseTime } from '@mcm/api';
import { controllerOf } from '@mcm/kube';
import { powerOf } from '../warm/warm-machine.ts';

/** Returns the time in milliseconds since 1970, or 0 if the time is absent or invalid. */
export const millis = (time: string | null | undefined): number => parseTime(time ?? undefined)?.getTime() ?? 0;

export const after = (start: string | null | undefined, ms: number): Date => new Date(millis(start) + ms);

/**
 * Returns the time until which a machine may join: its creation time plus the creation timeout. For a machine without
 * an owner, the creation timeout starts again when a user corrects the class of the machine. For a warm machine, the
 * creation timeout starts when its VM is started.
 */
export function joinDeadline(machine: Machine, { creationTimeoutMs }: { creationTimeoutMs: number }): Date {
  const power = powerOf(machine);
  if (power?.is === 'Starting') return new Date(power.since.getTime() + creationTimeoutMs);
  const deadline = after(machine.metadata.creationTimestamp, creationTimeoutMs);
  const { phase, lastUpdateTime } = machine.status?.currentStatus ?? {};
  if (phase !== 'Pending' || controllerOf(machine) || millis(lastUpdateTime) <= deadline.getTime()) return deadline;
  return after(lastUpdateTime, creationTimeoutMs);
}

/**
 * Returns the time until which an unhealthy machine may recover before it is marked as Failed. An in-place update
 * includes reboots, so the health deadline is longer during the update.
 */
export function healthDeadline({ metadata, status }: Machine, { healthTimeoutMs }: { healthTimeoutMs: number }): Date {
  const deadline = after(status?.currentStatus?.lastUpdateTime, healthTimeoutMs);
  const updated = parseTime(metadata.annotations?.[Annotations.UpdateInProgressUntil]);
  return updated && updated > deadline ? updated : deadline;
}

/** Formats a time for descriptions, with the format of Go's print function: `2026-11-21 09:05:06 +0000 UTC`. */
export const goTime = (time: string | null | undefined): string => {
  const text = time ? formatTime(new Date(millis(time))) : '0001-01-01T00:00:00Z';
  return `${text.replace('T', ' ').replace('Z', '')} +0000 UTC`;
};
