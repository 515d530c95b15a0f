import { Annotations, type MachineDeployment, type MachineSet } from '@mcm/api';
import { createdAt } from '../objects/machines.ts';
import { compareText, parseInteger } from '../values/integers.ts';
import { sameTemplate } from './template-hash.ts';

/** The object's revision: 0 without the annotation, undefined if it is not an integer. */
export function revisionOf(object: MachineSet | MachineDeployment): number | undefined {
  const text = object.metadata.annotations?.[Annotations.Revision];
  return text === undefined ? 0 : parseInteger(text);
}

/** The highest valid revision of the sets; 0 for none. */
export const highestRevision = (sets: readonly MachineSet[]): number =>
  Math.max(0, ...sets.map((set) => revisionOf(set) ?? 0));

/**
 * The revision before the current one: the second highest. Two sets with the same revision count twice. 0 for fewer
 * than two sets.
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

/** Oldest first, then by name for sets of the same second. */
export const oldestFirst = (a: MachineSet, b: MachineSet): number =>
  createdAt(a) - createdAt(b) || compareText(a.metadata.name, b.metadata.name);

/** A deployment's sets. */
export interface Sets {
  /** The oldest set with the deployment's template. */
  readonly current: MachineSet | undefined;
  /** All others, oldest first. */
  readonly old: readonly MachineSet[];
}

/** Separates the set of the deployment's template from the others. */
export function splitSets(deployment: MachineDeployment, sets: readonly MachineSet[]): Sets {
  const sorted = sets.toSorted(oldestFirst);
  const current = sorted.find((set) => sameTemplate(set.spec.template, deployment.spec.template));
  return { current, old: sorted.filter((set) => set !== current) };
}
