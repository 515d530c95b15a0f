import { parseJson, stringifyJson } from './json.ts';
import type { ApiObject, ObjectMeta } from './object.ts';

const META_ORDER: readonly (keyof ObjectMeta)[] = [
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
];

export const META_FIELDS: ReadonlySet<string> = new Set(META_ORDER);

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** Omits empty fields of the metadata, as `omitempty` of Go does. */
export function tidyMeta(meta: ObjectMeta): ObjectMeta {
  const tidy: Record<string, unknown> = {};
  for (const field of META_ORDER) {
    const value = meta[field];
    if (!isEmpty(value) && !(field === 'generation' && value === 0)) tidy[field] = value;
  }
  return tidy as ObjectMeta;
}

/**
 * Returns the text of an object for the store. apiVersion, kind and metadata come first, and the metadata contains the
 * given revision.
 */
export function renderObject(object: ApiObject, revision: number | undefined): string {
  const { apiVersion, kind, metadata, ...body } = object;
  const meta = tidyMeta(revision === undefined ? metadata : { ...metadata, resourceVersion: String(revision) });
  return stringifyJson({ apiVersion, kind, metadata: meta, ...body });
}

/**
 * Replaces the revision in a text of {@link renderObject}. No string in the text contains the searched characters,
 * because quotes in strings are escaped.
 */
export function withRevision(text: string, from: number, to: number): string {
  const searched = `"resourceVersion":"${from}"`;
  const at = text.indexOf(searched);
  if (at < 0) return renderObject(parseJson(text) as ApiObject, to);
  return `${text.slice(0, at)}"resourceVersion":"${to}"${text.slice(at + searched.length)}`;
}

/** Compares two objects as JSON. A member with the value `undefined` counts as absent. */
export function jsonEquals(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => jsonEquals(item, b[index]));
  }
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  let count = 0;
  for (const key of Object.keys(left)) {
    if (left[key] === undefined) continue;
    count++;
    if (!Object.hasOwn(right, key) || !jsonEquals(left[key], right[key])) return false;
  }
  let others = 0;
  for (const key of Object.keys(right)) if (right[key] !== undefined) others++;
  return count === others;
}

export const copyJson = <T>(value: T): T => (value === undefined ? value : (parseJson(stringifyJson(value)) as T));

/** Returns a time in the format of objects: RFC 3339 in whole seconds. */
export const formatTime = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;
