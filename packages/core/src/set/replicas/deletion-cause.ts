import type { Machine, MachineDeployment, MachineSet } from '@mcm/api';
import { isFailed } from '../../objects/machines.ts';
import { splitSets } from '../../rollout/revisions.ts';
import type { RecordedCause } from '../../settings/drain-timeouts.ts';

/** The reasons why a MachineSet deletes a machine. */
export const DeletionCauses = {
  Autoscaler: 'autoscaler',
  ScaleDown: 'scale-down',
  /** The MachineSet has an old template, and more machines than replicas. */
  Rollout: 'rollout',
  Unhealthy: 'unhealthy',
  OwnerDeleted: 'owner deleted',
} as const;

/** One of {@link DeletionCauses}. */
export type DeletionCause = (typeof DeletionCauses)[keyof typeof DeletionCauses];

/**
 * Returns the annotation with the cause of a deletion, or undefined if the manager records no cause for the deletion.
 */
export function timedCauseOf(cause: DeletionCause | undefined): RecordedCause | undefined {
  if (cause === DeletionCauses.Rollout) return 'Rollout';
  return cause === DeletionCauses.ScaleDown || cause === DeletionCauses.Autoscaler ? 'ScaleIn' : undefined;
}

export interface DeletionDecision {
  readonly set: MachineSet;
  readonly deployment?: MachineDeployment | undefined;
  readonly siblings: readonly MachineSet[];
  readonly named: { has(name: string): boolean };
  readonly alive: number;
}

/** @param toDelete the machines in the order of `planReplicas`: named machines, surplus machines, failed machines */
export function deletionCauses(
  toDelete: readonly Machine[],
  { set, deployment, siblings, named, alive }: DeletionDecision,
): ReadonlyMap<string, DeletionCause> {
  const isOld = deployment !== undefined && splitSets(deployment, siblings).current?.metadata.uid !== set.metadata.uid;
  const rolls = isOld && deployment.spec.paused !== true;
  const surplusCause = rolls ? DeletionCauses.Rollout : DeletionCauses.ScaleDown;
  let surplus = alive - (set.spec.replicas ?? 0);
  return new Map(
    toDelete.map((machine) => {
      const { name } = machine.metadata;
      const isSurplus = surplus > 0;
      surplus -= 1;
      if (named.has(name)) return [name, DeletionCauses.Autoscaler] as const;
      return [name, isSurplus || !isFailed(machine) ? surplusCause : DeletionCauses.Unhealthy] as const;
    }),
  );
}

export function causeText(names: readonly string[], causes: ReadonlyMap<string, DeletionCause>, most: number): string {
  const groups = [...Map.groupBy(names, (name) => causes.get(name))].flatMap(([cause, group]) =>
    cause === undefined ? [] : [{ cause, group }],
  );
  const [first] = groups;
  if (!first) return '';
  if (groups.length === 1) return `. Cause: ${first.cause}`;
  const each = groups.map(({ cause, group }) => {
    const more = group.length > most ? ` and ${group.length - most} more` : '';
    return `${cause} (${group.slice(0, most).join(', ')}${more})`;
  });
  return `. Causes: ${each.join('; ')}`;
}

/** Parses the causes of deletions and returns the cause for one machine, or undefined. */
export function causeIn(message: string, name: string): string | undefined {
  const [, names = '', all, each = ''] = /: (.*)\. (?:Cause: (.*)|Causes: (.*))$/s.exec(message) ?? [];
  const isNamed = (list: string): boolean =>
    list
      .replace(/ and \d+ more$/, '')
      .split(', ')
      .includes(name);
  if (all !== undefined) return isNamed(names) ? all : undefined;
  for (const [, cause, list = ''] of each.matchAll(/([^;(]+) \(([^)]*)\)/g)) if (isNamed(list)) return cause?.trim();
  return undefined;
}
