import { Annotations, type MachineDeployment, type MachineSet } from '@mcm/api';
import { createdAt } from '../objects/machines.ts';
import { compareText, parseInteger } from '../values/integers.ts';
import { sameTemplate } from './template-hash.ts';

/** Returns the revision of an object: 0 if the annotation is absent, and undefined if its value is not an integer. */
export function revisionOf(object: MachineSet | MachineDeployment): number | undefined {
  const text = object.metadata.annotations?.[Annotations.Revision];
  return text === undefined ? 0 : parseInteger(text);
}

/** Returns the highest revision of the sets, or 0 if no set has a valid revision. */
export const highestRevision = (sets: readonly MachineSet[]): number =>
  Math.max(0, ...sets.map((set) => revisionOf(set) ?? 0));

/** Returns true if the set has machines, or if its annotation shows that the set has created a machine. */
export const hadMachines = ({ metadata, status }: MachineSet): boolean =>
  (status?.replicas ?? 0) > 0 || metadata.annotations?.[Annotations.NextMachineNumbers] !== undefined;

/** Sorts sets by age, and sets with equal creation times by name. */
export const oldestFirst = (a: MachineSet, b: MachineSet): number =>
  createdAt(a) - createdAt(b) || compareText(a.metadata.name, b.metadata.name);

/** The sets of a deployment. */
export interface Sets {
  readonly current: MachineSet | undefined;
  readonly old: readonly MachineSet[];
}

/** Separates the set with the template of the deployment from all other sets. */
export function splitSets(deployment: MachineDeployment, sets: readonly MachineSet[]): Sets {
  const sorted = sets.toSorted(oldestFirst);
  const current = sorted.find((set) => sameTemplate(set.spec.template, deployment.spec.template));
  return { current, old: sorted.filter((set) => set !== current) };
}

/**
 * Returns the default revision for an undo: the highest revision of a set with another template, or 0 without such a
 * set. If the class of the current template does not exist, an undo returns to the newest revision.
 */
export const previousRevision = ({ current, old }: Sets): number =>
  highestRevision(old.filter(({ spec }) => !current || !sameTemplate(spec.template, current.spec.template)));
