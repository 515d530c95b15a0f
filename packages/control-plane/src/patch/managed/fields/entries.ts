import { equalJson } from '../../../apimachinery/objects/json-value.ts';
import type { JsonObject, ManagedFieldsEntry } from '../../../apimachinery/objects/object.ts';
import { defined } from '../../../apimachinery/objects/plain.ts';
import { type FieldSet, formatFields, isEmptySet, isReadableFields, parseFields, union } from './fieldSet.ts';

export interface Ownership {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly set: FieldSet;
  /** The managedFields entry from which the fields were parsed. */
  readonly entry?: ManagedFieldsEntry;
}

const MAX_UPDATE_MANAGERS = 10;

const FOLDED_MANAGER = 'ancient-changes';

/** Returns the time of a managedFields entry: UTC, without fractions of a second. */
export const entryTime = (now: Date): string => now.toISOString().replace(/\.\d+Z$/, 'Z');

export function readEntries(entries: readonly ManagedFieldsEntry[] | undefined): Ownership[] {
  if (!Array.isArray(entries)) return [];
  const owners: Ownership[] = [];
  for (const entry of entries) {
    if (entry.operation !== 'Apply' && entry.operation !== 'Update') continue;
    const owner: Ownership = {
      manager: entry.manager ?? '',
      operation: entry.operation,
      apiVersion: entry.apiVersion ?? '',
      subresource: entry.subresource ?? '',
      time: entry.time,
      set: parseFields(entry.fieldsV1),
      entry,
    };
    const earlier = owners.findIndex((each) => isSameManager(each, owner));
    if (earlier >= 0) owners.splice(earlier, 1);
    owners.push(owner);
  }
  return owners;
}

export const isReadable = ({ operation, apiVersion, fieldsType, fieldsV1 }: ManagedFieldsEntry): boolean =>
  (operation === 'Apply' || operation === 'Update') &&
  apiVersion !== undefined &&
  apiVersion !== '' &&
  fieldsType === 'FieldsV1' &&
  (fieldsV1 === undefined || isReadableFields(fieldsV1));

/** Returns whether the value is `[{}]`. A client sends this value to remove all managers. */
export const isReset = (entries: readonly ManagedFieldsEntry[] | undefined): boolean =>
  entries?.length === 1 && Object.keys(entries[0] ?? {}).length === 0;

/**
 * Returns whether two entries belong to the same manager. For its applies, a manager has one entry for all API
 * versions. For its updates, a manager has one entry for each API version.
 */
export function isSameManager(a: Ownership, b: Omit<Ownership, 'set' | 'time'>): boolean {
  if (a.manager !== b.manager || a.operation !== b.operation || a.subresource !== b.subresource) return false;
  return a.operation === 'Apply' || a.apiVersion === b.apiVersion;
}

function toEntry(owner: Ownership): ManagedFieldsEntry {
  if (owner.entry !== undefined) return owner.entry;
  const fieldsV1: JsonObject = formatFields(owner.set);
  return defined({
    manager: owner.manager,
    operation: owner.operation,
    apiVersion: owner.apiVersion,
    time: owner.time,
    fieldsType: 'FieldsV1' as const,
    fieldsV1,
    subresource: owner.subresource || undefined,
  });
}

const text = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Sorts entries by operation (Apply first), time, manager, version and subresource. */
const inOrder = (a: Ownership, b: Ownership): number =>
  text(a.operation, b.operation) ||
  text(a.time ?? '', b.time ?? '') ||
  text(a.manager, b.manager) ||
  text(a.apiVersion, b.apiVersion) ||
  text(a.subresource, b.subresource);

/** If an object has too many update entries, merges the oldest entries of each API version (`capManagersManager`). */
function fold(owners: readonly Ownership[]): Ownership[] {
  const updaters = owners.filter((owner) => owner.operation === 'Update').sort(inOrder);
  if (updaters.length <= MAX_UPDATE_MANAGERS) return [...owners];
  const kept = new Set(owners);
  const folded = new Map<string, Ownership>();
  let count = updaters.length;
  for (const updater of updaters) {
    const bucket = folded.get(updater.apiVersion);
    if (bucket === undefined && count <= MAX_UPDATE_MANAGERS) break;
    kept.delete(updater);
    if (bucket !== undefined) count--;
    folded.set(updater.apiVersion, {
      manager: FOLDED_MANAGER,
      operation: 'Update',
      apiVersion: updater.apiVersion,
      subresource: '',
      time: updater.time,
      set: bucket === undefined ? updater.set : union(bucket.set, updater.set),
    });
    if (count <= MAX_UPDATE_MANAGERS) break;
  }
  return [...kept, ...folded.values()];
}

/** Returns the managedFields entries of managers. */
export const writeEntries = (owners: readonly Ownership[]): ManagedFieldsEntry[] =>
  fold(owners.filter((owner) => !isEmptySet(owner.set)))
    .sort(inOrder)
    .map(toEntry);

const withoutTime = ({ time: _time, ...rest }: ManagedFieldsEntry): ManagedFieldsEntry => rest;

export const differInTimes = (entries: readonly ManagedFieldsEntry[], others: readonly ManagedFieldsEntry[]): boolean =>
  entries.length === others.length &&
  entries.some(({ time }, index) => time !== others[index]?.time) &&
  equalJson(entries.map(withoutTime), others.map(withoutTime));
