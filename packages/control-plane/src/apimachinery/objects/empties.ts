import { cloneJson, isRecord } from './json-value.ts';
import type { Plain } from './plain.ts';

/**
 * The fields of each object that the request body set to an empty list or map. Error messages and defaults distinguish
 * `[]` and `{}` from absent fields during a request.
 */
const noted = new WeakMap<Plain, Readonly<Plain>>();

const NONE: Readonly<Plain> = {};

export const emptiesOf = (record: Plain): Readonly<Plain> => noted.get(record) ?? NONE;

export function noteEmpty(record: Plain, field: string, empty: unknown): void {
  noted.set(record, { ...noted.get(record), [field]: empty });
}

/** Deletes the record of an empty field, because the server has reset the field. */
export function forgetEmpty(record: Plain, field: string): void {
  const notes = noted.get(record);
  if (notes === undefined) return;
  const { [field]: _gone, ...rest } = notes;
  noted.set(record, rest);
}

/** Returns the value of a field in the body, including an empty list or map. */
export const given = (record: unknown, field: string): unknown =>
  isRecord(record) ? (record[field] ?? emptiesOf(record)[field] ?? null) : null;

/** Copies the records of empty fields from an object to its shallow copy. */
export function keepEmpties<T extends Plain>(copy: T, source: Plain): T {
  const notes = noted.get(source);
  if (notes !== undefined) noted.set(copy, notes);
  return copy;
}

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

/** Returns whether the request body set a field of the object to an empty list or map. */
export const isGivenEmpty = (record: Plain): boolean =>
  Object.keys(emptiesOf(record)).some((field) => (record[field] ?? null) === null);

/** Returns whether a request body set any part of the value to an empty list or map. */
export function holdsEmpties(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsEmpties);
  if (!isRecord(value)) return false;
  return isGivenEmpty(value) || Object.values(value).some(holdsEmpties);
}
