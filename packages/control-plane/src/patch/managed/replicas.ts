import type { ManagedFieldsEntry } from '../../apimachinery/objects/object.ts';
import { isSameManager, type Ownership, readEntries, writeEntries } from './fields/entries.ts';
import { difference, EMPTY_SET, type FieldSet, fieldSet, isEmptySet, LEAF } from './fields/fieldSet.ts';

/** Returns the path to the number of replicas in an API version. */
export type ReplicasPath = (apiVersion: string) => readonly string[] | null | undefined;

const SCALE_VERSION = 'autoscaling/v1';
const IN_SCALE = ['spec', 'replicas'];

const setOf = (path: readonly string[]): FieldSet =>
  path.reduceRight<FieldSet>((set, step) => fieldSet(false, new Map([[`f:${step}`, set]])), LEAF);

const owns = (set: FieldSet, path: readonly string[]): boolean =>
  path.reduce<FieldSet>((at, step) => at.children.get(`f:${step}`) ?? EMPTY_SET, set).self;

/** Returns the entries of a Scale: the managers of the number of replicas (`ScaleHandler.ToSubresource`). */
export function scaleEntries(
  parent: readonly ManagedFieldsEntry[] | undefined,
  pathOf: ReplicasPath,
): ManagedFieldsEntry[] {
  const owners = readEntries(parent).flatMap(({ entry: _read, ...owner }): Ownership[] => {
    const path = pathOf(owner.apiVersion) ?? undefined;
    if (path === undefined || !owns(owner.set, path)) return [];
    return [{ ...owner, apiVersion: SCALE_VERSION, set: setOf(IN_SCALE) }];
  });
  return writeEntries(owners);
}

/**
 * Returns the entries of the scaled object, as `ScaleHandler.ToParent` in Kubernetes. If a manager has update entries,
 * the manager gets an additional entry without a time, because each API version has its own entry.
 * @param scale the managedFields of the written Scale
 */
export function parentEntries(
  parent: readonly ManagedFieldsEntry[] | undefined,
  scale: readonly ManagedFieldsEntry[] | undefined,
  apiVersion: string,
  pathOf: ReplicasPath,
): ManagedFieldsEntry[] {
  const written = readEntries(scale);
  const next: Ownership[] = [];
  for (const owner of readEntries(parent)) {
    const path = pathOf(owner.apiVersion);
    if (path === undefined) continue;
    const at = written.findIndex((each) => isSameManager(owner, each));
    if (path === null || !owns(owner.set, path)) next.push(owner);
    else if (at >= 0) {
      next.push(owner);
      written.splice(at, 1);
    } else {
      const { entry: _stale, ...facts } = owner;
      const set = difference(owner.set, setOf(path));
      if (!isEmptySet(set)) next.push({ ...facts, set });
    }
  }
  const own = pathOf(apiVersion) ?? IN_SCALE;
  for (const { entry: _read, ...owner } of written) {
    if (owns(owner.set, IN_SCALE)) next.push({ ...owner, apiVersion, time: undefined, set: setOf(own) });
  }
  return writeEntries(next);
}
