import {
  Annotations,
  DEFAULT_MACHINE_PRIORITY,
  formatDurationMs,
  type Machine,
  type MachineDeployment,
  type MachineSet,
} from '@mcm/api';
import { markTimeOf } from '../../objects/machines.ts';
import { expiryOf } from '../../objects/mark-expiry.ts';
import { fallOf } from '../../objects/scaler.ts';
import { unmetTriggers } from './trigger-deletion.ts';

/** A deletion mark that an autoscaler added to a machine. The mark has not caused a deletion yet. */
export interface ExpiringMark {
  readonly machine: Machine;
  readonly expiresAt: Date;
}

export interface ExpiryPlan {
  readonly machines: readonly Machine[];
  readonly list?: string | null | undefined;
  readonly nextAt: Date | undefined;
  readonly afterMs: number;
}

/**
 * Returns the deletion marks that will expire. Returns undefined during a scale-down, or if the marks of the deployment
 * do not expire.
 */
export function expiringMarks(
  deployment: MachineDeployment,
  sets: readonly MachineSet[],
  machinesOf: (set: MachineSet) => readonly Machine[],
): readonly ExpiringMark[] | undefined {
  const afterMs = expiryOf(deployment);
  if (afterMs === undefined || sets.some((set) => fallOf(set, deployment) > 0)) return undefined;
  return sets.flatMap((set) =>
    unmetTriggers(set, machinesOf(set)).flatMap(({ machine }) => {
      const time = markTimeOf(machine);
      return time === undefined ? [] : [{ machine, expiresAt: new Date(time + afterMs) }];
    }),
  );
}

/**
 * A deletion mark expires after the configured time if `spec.replicas` was not reduced. An expired mark deletes no
 * machine.
 * - A priority without a mark time never expires, because operators set priorities for the next scale-down.
 */
export function planExpiry(
  deployment: MachineDeployment,
  sets: readonly MachineSet[],
  machinesOf: (set: MachineSet) => readonly Machine[],
  now: Date,
): ExpiryPlan | undefined {
  const afterMs = expiryOf(deployment);
  const marked = expiringMarks(deployment, sets, machinesOf);
  if (afterMs === undefined || marked === undefined) return undefined;
  const machines = marked.filter(({ expiresAt }) => expiresAt <= now).map(({ machine }) => machine);
  const later = marked.filter(({ expiresAt }) => expiresAt > now).map(({ expiresAt }) => expiresAt.getTime());
  const nextAt = later.length > 0 ? new Date(Math.min(...later)) : undefined;
  return { machines, list: listWithout(deployment, machines), nextAt, afterMs };
}

function listWithout({ metadata }: MachineDeployment, machines: readonly Machine[]): string | null | undefined {
  const text = metadata.annotations?.[Annotations.TriggerDeletion];
  if (text === undefined) return undefined;
  const names = new Set(machines.map(({ metadata: { name } }) => name));
  const entries = text.split(',');
  const kept = entries.filter((entry) => !names.has(entry.trim().split('~')[0] ?? ''));
  if (kept.length === entries.length) return undefined;
  return kept.length === 0 ? null : kept.join(',');
}

export const unmarked = ({ metadata: { uid, resourceVersion } }: Machine): object => ({
  metadata: {
    uid,
    resourceVersion,
    annotations: {
      [Annotations.Priority]: String(DEFAULT_MACHINE_PRIORITY),
      [Annotations.MarkedForDeletionTime]: null,
      [Annotations.ScaleInSeen]: null,
    },
  },
});

export const expiredText = (machines: readonly Machine[], afterMs: number): string =>
  `mcm removed the deletion marks of ${machines.map(({ metadata }) => metadata.name).join(', ')}, because spec.replicas was not reduced within ${formatDurationMs(afterMs)}.`;
