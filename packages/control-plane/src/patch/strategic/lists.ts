import { isRecord, own, sortedJson } from '../../apimachinery/objects/json-value.ts';
import type { SchemaNode } from '../../schema/model/node.ts';
import { formatError, noMergeKey, PATCH, patchError, plainValue, unknownPatchType } from './directives.ts';

/** Merges a map of the patch into the original's. */
export type MergeMaps = (
  original: Record<string, unknown>,
  patch: Record<string, unknown>,
  node: SchemaNode | undefined,
) => Record<string, unknown>;

/** The merge rule of a list. */
export interface ListRule {
  /** Whether items are merged, or the list is replaced. */
  readonly merges: boolean;
  /** The key field of items; '' for lists of scalars. */
  readonly mergeKey: string;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The rule of a list from its schema. */
export function listRule(node: SchemaNode | undefined): ListRule {
  if (node === undefined) return { merges: false, mergeKey: '' };
  return {
    merges: text(node.schema['x-kubernetes-patch-strategy']).split(',').includes('merge'),
    mergeKey: text(node.schema['x-kubernetes-patch-merge-key']),
  };
}

/** A text that is the same for equal JSON values. */
function keyText(value: unknown): string {
  if (value === undefined) return '';
  return sortedJson(typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : value);
}

/** The positions of list items: maps by their merge key, others by their value. Of equal items, the first counts. */
class Positions {
  readonly #mergeKey: string;
  readonly #positions = new Map<string, number>();

  constructor(list: readonly unknown[], mergeKey: string) {
    this.#mergeKey = mergeKey;
    for (const [at, item] of list.entries()) this.add(item, at);
  }

  add(item: unknown, at: number): void {
    const key = this.#key(item);
    if (!this.#positions.has(key)) this.#positions.set(key, at);
  }

  /** The position of an equal item; -1 without one. */
  of(item: unknown): number {
    return this.#positions.get(this.#key(item)) ?? -1;
  }

  has(item: unknown): boolean {
    return this.of(item) >= 0;
  }

  #key(item: unknown): string {
    return isRecord(item) ? `map ${keyText(own(item, this.#mergeKey))}` : keyText(item);
  }
}

/**
 * The order of a merged list. Items of the patch keep its order, and other items the order of the server. Both are interleaved by the order
 * of the server if possible.
 */
export function inOrder(
  merged: readonly unknown[],
  patchOrder: readonly unknown[],
  serverOrder: readonly unknown[],
  mergeKey: string,
): unknown[] {
  const inPatch = new Positions(patchOrder, mergeKey);
  const onServer = new Positions(serverOrder, mergeKey);
  const sorted = (order: Positions, items: readonly unknown[]): unknown[] =>
    items.filter((item) => order.has(item)).sort((a, b) => order.of(a) - order.of(b));
  const patched = sorted(inPatch, merged);
  const serverOnly = sorted(
    onServer,
    merged.filter((item) => !inPatch.has(item)),
  );
  const result: unknown[] = [];
  let i = 0;
  let j = 0;
  while (i < serverOnly.length || j < patched.length) {
    const takeServer = j >= patched.length || (i < serverOnly.length && isBefore(serverOnly[i], patched[j], onServer));
    result.push(takeServer ? serverOnly[i++] : patched[j++]);
  }
  return result;
}

function isBefore(a: unknown, b: unknown, order: Positions): boolean {
  const [at, other] = [order.of(a), order.of(b)];
  return at >= 0 && other >= 0 && at < other;
}

/** Applies the `$patch` directives in items; `replaced` if the items of the patch are the new list. */
function directives(
  original: readonly unknown[],
  patch: readonly unknown[],
  mergeKey: string,
): { original: readonly unknown[]; patch: Record<string, unknown>[]; replaced: boolean } {
  const deleted: unknown[] = [];
  let replaced = false;
  const plain: Record<string, unknown>[] = [];
  for (const item of patch) {
    if (!isRecord(item)) throw patchError('expected all elements in the list to be maps');
    if (!Object.hasOwn(item, PATCH)) {
      plain.push(item);
    } else if (item[PATCH] === 'delete') {
      if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
      deleted.push(item);
    } else if (item[PATCH] === 'replace') {
      replaced = true;
    } else if (item[PATCH] === 'merge') {
      throw patchError('merging lists cannot yet be specified in the patch');
    } else {
      throw unknownPatchType(item[PATCH], item);
    }
  }
  const gone = new Positions(deleted, mergeKey);
  return { original: original.filter((item) => !gone.has(item)), patch: plain, replaced };
}

function mergeItems(
  original: readonly unknown[],
  patch: readonly unknown[],
  node: SchemaNode | undefined,
  mergeKey: string,
  mergeMaps: MergeMaps,
): unknown[] {
  if (mergeKey === '') throw patchError('cannot merge lists without merge key');
  const parts = directives(original, patch, mergeKey);
  if (parts.replaced) return parts.patch.map(plainValue);
  const merged: unknown[] = [...parts.original];
  const positions = new Positions(merged, mergeKey);
  for (const item of parts.patch) {
    if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
    const at = positions.of(item);
    if (at < 0) {
      const value = plainValue(item);
      if (value !== undefined) positions.add(value, merged.push(value) - 1);
    } else {
      const before = merged[at];
      merged[at] = mergeMaps(isRecord(before) ? before : {}, item, node?.items);
    }
  }
  // Each stored item needs the merge key, because the items are sorted by it.
  for (const item of [...merged, ...parts.original]) {
    if (isRecord(item) && !Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
  }
  return inOrder(merged, parts.patch, parts.original, mergeKey);
}

/** Merges a list of the patch into the original list by its rule. `mergeMaps` merges an item. */
export function mergeLists(
  original: readonly unknown[],
  patch: readonly unknown[],
  node: SchemaNode | undefined,
  rule: ListRule,
  mergeMaps: MergeMaps,
): unknown[] {
  if (!rule.merges) return patch.map(plainValue);
  const holdsMaps = isRecord(original[0] ?? patch[0]);
  if (holdsMaps) return mergeItems(original, patch, node, rule.mergeKey, mergeMaps);
  const merged = [...original];
  const positions = new Positions(merged, '');
  for (const item of patch) if (!positions.has(item)) positions.add(item, merged.push(item) - 1);
  return inOrder(merged, patch, original, '');
}

/** Removes scalars from a list. */
export function deleteScalars(original: readonly unknown[], patch: unknown): unknown[] {
  if (!Array.isArray(patch)) throw formatError('invalid patch format of primitive list');
  const deleted = new Positions(patch, '');
  return original.filter((item) => !deleted.has(item));
}
