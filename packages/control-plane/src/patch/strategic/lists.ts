import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import type { SchemaNode } from '../../schema/model/node.ts';
import { goPlain, goType, noMergeKey, PATCH, patchError, unknownPatchType } from './directives.ts';
import type { Field } from './lookup.ts';
import { inOrder, keyText } from './order.ts';

type Fields = Record<string, unknown>;

export type MergeMaps = (original: Fields, patch: Fields, node: SchemaNode | undefined) => Fields;

/**
 * @throws StatusError 422 or 500 if the items have different types
 */
export function holdMaps(...lists: readonly (readonly unknown[])[]): boolean {
  const items = lists.flat();
  if (items.length === 0) throw patchError('no elements in any of the given slices');
  if (Array.isArray(items[0])) {
    const message = 'the server rejected our request due to an error in our request';
    throw new StatusError({ code: 422, reason: 'Invalid', details: {}, message });
  }
  const type = goType(items[0]);
  if (items.some((item) => goType(item) !== type)) {
    throw patchError(`list element types are not identical: ${goPlain(lists)}`);
  }
  return isRecord(items[0]);
}

function directives(
  original: readonly unknown[],
  patch: readonly unknown[],
  mergeKey: string,
): { readonly original: readonly unknown[]; readonly patch: readonly Fields[] } {
  const deleted = new Set<string>();
  let replaced = false;
  const plain: Fields[] = [];
  for (const item of patch) {
    if (!isRecord(item)) continue;
    const directive = item[PATCH];
    if (!Object.hasOwn(item, PATCH)) plain.push(item);
    else if (directive === 'delete') {
      if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
      deleted.add(keyText(item[mergeKey]));
    } else if (directive === 'replace') replaced = true;
    else if (directive === 'merge') throw patchError('merging lists cannot yet be specified in the patch');
    else throw unknownPatchType(directive, item);
  }
  if (replaced) return { original: plain, patch: [] };
  const isKept = (item: unknown): boolean =>
    !isRecord(item) || !Object.hasOwn(item, mergeKey) || !deleted.has(keyText(item[mergeKey]));
  return { original: deleted.size === 0 ? original : original.filter(isKept), patch: plain };
}

function mergeItems(
  original: readonly unknown[],
  patch: readonly unknown[],
  { node, mergeKey }: Field,
  mergeMaps: MergeMaps,
): unknown[] {
  if (mergeKey === '') throw patchError('cannot merge lists without merge key for struct');
  const parts = directives(original, patch, mergeKey);
  const merged: unknown[] = [];
  const places = new Map<string, number>();
  const push = (item: unknown): void => {
    const at = merged.push(item) - 1;
    if (!isRecord(item) || !Object.hasOwn(item, mergeKey)) return;
    const key = keyText(item[mergeKey]);
    if (!places.has(key)) places.set(key, at);
  };
  for (const item of parts.original) push(item);
  for (const item of parts.patch) {
    if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
    const at = places.get(keyText(item[mergeKey]));
    const before = at === undefined ? undefined : merged[at];
    if (at !== undefined && isRecord(before)) merged[at] = mergeMaps(before, item, node?.items);
    else push(item);
  }
  return inOrder(merged, parts.patch, parts.original, mergeKey, true);
}

const distinct = (items: readonly unknown[]): unknown[] => [
  ...new Map(items.map((item) => [keyText(item), item])).values(),
];

/**
 * @param deletes whether the list in the patch contains scalars to delete
 * @param mergeMaps merges two items that are maps
 */
export function mergeLists(
  original: readonly unknown[],
  patch: readonly unknown[],
  field: Field,
  deletes: boolean,
  mergeMaps: MergeMaps,
): readonly unknown[] {
  if (field.strategy !== 'merge' && !deletes) return patch;
  if (original.length === 0 && patch.length === 0) return original;
  if (holdMaps(original, patch)) return mergeItems(original, patch, field, mergeMaps);
  if (deletes) {
    const deleted = new Set(patch.map(keyText));
    return original.filter((item) => !deleted.has(keyText(item)));
  }
  return inOrder(distinct([...original, ...patch]), patch, original, field.mergeKey, false);
}
