import { cloneJson, isRecord } from './json-value.ts';
import type { Plain } from './plain.ts';

/**
 * Fields of a body that were given as an empty list or map, by the object that held them. The stored form leaves such fields out, as the
 * server's own types do, but while a request lasts the server tells `[]` and `{}` from nothing: refusals print them, and some defaults
 * are not set over them. Kept beside the objects, so that nothing that reads or compares them sees it; only what had such a field has an
 * entry, so reading any other body costs nothing.
 */
const noted = new WeakMap<Plain, Readonly<Plain>>();

const NONE: Readonly<Plain> = {};

/** Every field that was given as an empty list or map. */
export const emptiesOf = (record: Plain): Readonly<Plain> => noted.get(record) ?? NONE;

/** Notes that this field was given as this empty list or map. */
export function noteEmpty(record: Plain, field: string, empty: unknown): void {
  noted.set(record, { ...noted.get(record), [field]: empty });
}

/** Forgets what was noted of a field that the server sets back. */
export function forgetEmpty(record: Plain, field: string): void {
  const notes = noted.get(record);
  if (notes === undefined) return;
  const { [field]: _gone, ...rest } = notes;
  noted.set(record, rest);
}

/** A field's value; `[]` or `{}` where the body had that; null when it had nothing. */
export const given = (record: unknown, field: string): unknown =>
  isRecord(record) ? (record[field] ?? emptiesOf(record)[field] ?? null) : null;

/** Gives a shallow copy the notes of what it was made of. */
export function keepEmpties<T extends Plain>(copy: T, source: Plain): T {
  const notes = noted.get(source);
  if (notes !== undefined) noted.set(copy, notes);
  return copy;
}

/** A deep copy with the notes. */
export function copyWithEmpties<T>(value: T): T {
  const copy = cloneJson(value);
  carryNotes(value, copy);
  return copy;
}

function carryNotes(from: unknown, to: unknown): void {
  if (Array.isArray(from) && Array.isArray(to)) {
    for (const [index, item] of from.entries()) carryNotes(item, to[index]);
    return;
  }
  if (!isRecord(from) || !isRecord(to)) return;
  keepEmpties(to, from);
  for (const key of Object.keys(from)) carryNotes(from[key], to[key]);
}

/** Whether a field of a record was given as an empty list or map, and no default has taken its place. */
export const isGivenEmpty = (record: Plain): boolean =>
  Object.keys(emptiesOf(record)).some((field) => (record[field] ?? null) === null);

/** Whether anything in a value was given as an empty list or map. */
export function holdsEmpties(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsEmpties);
  if (!isRecord(value)) return false;
  return isGivenEmpty(value) || Object.values(value).some(holdsEmpties);
}
