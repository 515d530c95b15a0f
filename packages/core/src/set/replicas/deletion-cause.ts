import type { Machine, MachineDeployment, MachineSet } from '@mcm/api';
import { isFailed } from '../../objects/machines.ts';
import { splitSets } from '../../rollout/revisions.ts';

/** Why a MachineSet deletes a machine. */
export const DeletionCauses = {
  /** The list of machines to delete of its MachineDeployment names it. */
  Autoscaler: 'autoscaler',
  /** The MachineSet has more machines than replicas. */
  ScaleDown: 'scale-down',
  /** The same of a MachineSet with an old template. */
  Rollout: 'rollout',
  /** It is Failed, and is replaced. */
  Unhealthy: 'unhealthy',
  /** The MachineSet is being deleted. */
  OwnerDeleted: 'owner deleted',
} as const;

/** One of {@link DeletionCauses}. */
export type DeletionCause = (typeof DeletionCauses)[keyof typeof DeletionCauses];

/** The state on which a deletion was decided. */
export interface DeletionDecision {
  readonly set: MachineSet;
  /** Absent: the set has no deployment. */
  readonly deployment?: MachineDeployment | undefined;
  /** All sets of the deployment. */
  readonly siblings: readonly MachineSet[];
  /** Names on the deployment's list of machines to delete. */
  readonly named: { has(name: string): boolean };
  /** How many machines the set had before. */
  readonly alive: number;
}

/** The cause of each deletion. @param doomed in the order of `planReplicas`: named ones, surplus, failed ones */
export function deletionCauses(
  doomed: readonly Machine[],
  { set, deployment, siblings, named, alive }: DeletionDecision,
): ReadonlyMap<string, DeletionCause> {
  const isOld = deployment !== undefined && splitSets(deployment, siblings).current?.metadata.uid !== set.metadata.uid;
  const rolls = isOld && deployment.spec.paused !== true;
  const surplusCause = rolls ? DeletionCauses.Rollout : DeletionCauses.ScaleDown;
  let surplus = alive - (set.spec.replicas ?? 0);
  return new Map(
    doomed.map((machine) => {
      const { name } = machine.metadata;
      const isSurplus = surplus > 0;
      surplus -= 1;
      if (named.has(name)) return [name, DeletionCauses.Autoscaler] as const;
      return [name, isSurplus || !isFailed(machine) ? surplusCause : DeletionCauses.Unhealthy] as const;
    }),
  );
}

/** The causes of deletions for an event: one for all, or each with its machines. */
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

/** The cause for a machine in an event with {@link causeText}. Undefined if the event does not name the machine. */
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
