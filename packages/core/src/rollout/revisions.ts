import { Annotations, type MachineDeployment, type MachineSet } from '@mcm/api';
import { createdAt } from '../objects/machines.ts';
import { compareText, parseInteger } from '../values/integers.ts';
import { sameTemplate } from './template-hash.ts';

/** Returns the object's revision: 0 without the annotation, undefined if it is not an integer. */
export function revisionOf(object: MachineSet | MachineDeployment): number | undefined {
  const text = object.metadata.annotations?.[Annotations.Revision];
  return text === undefined ? 0 : parseInteger(text);
}

/** Returns the highest valid revision of the sets; 0 if there is none. */
export const highestRevision = (sets: readonly MachineSet[]): number =>
  Math.max(0, ...sets.map((set) => revisionOf(set) ?? 0));

/**
 * Returns the revision before the current one, which is the second highest. Two sets with the same revision count as two.
 * Returns 0 for fewer than two sets.
 */
export function lastRevision(sets: readonly MachineSet[]): number {
  let max = 0;
  let second = 0;
  for (const set of sets) {
    const revision = revisionOf(set);
    if (revision === undefined) continue;
    if (revision >= max) {
      second = max;
      max = revision;
    } else if (revision > second) second = revision;
  }
  return second;
}

/** Sorts by creation time, oldest first. Sets of the same second are sorted by name. */
export const oldestFirst = (a: MachineSet, b: MachineSet): number =>
  createdAt(a) - createdAt(b) || compareText(a.metadata.name, b.metadata.name);

/** The sets of a deployment. */
export interface Sets {
  /** The oldest set with the deployment's template. */
  readonly current: MachineSet | undefined;
  /** All other sets, oldest first. */
  readonly old: readonly MachineSet[];
}

/** Splits the sets into the one with the deployment's template and the others. */
export function splitSets(deployment: MachineDeployment, sets: readonly MachineSet[]): Sets {
  const sorted = sets.toSorted(oldestFirst);
  const current = sorted.find((set) => sameTemplate(set.spec.template, deployment.spec.template));
  return { current, old: sorted.filter((set) => set !== current) };
}
