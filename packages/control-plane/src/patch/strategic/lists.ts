import { equalJson, isRecord, own } from '../../schema/json.ts';
import type { SchemaNode } from '../../schema/node.ts';
import { formatError, noMergeKey, PATCH, patchError, plainValue, unknownPatchType } from './directives.ts';
import { mergeMaps } from './merge.ts';

/** How a list of the schema is merged. */
export interface ListRule {
  /** Items are merged rather than the list replaced. */
  readonly merges: boolean;
  /** The field that tells items apart; '' for lists of scalars. */
  readonly mergeKey: string;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The rule of a list: what its schema says for strategic merge patches. */
export function listRule(node: SchemaNode | undefined): ListRule {
  if (node === undefined) return { merges: false, mergeKey: '' };
  return {
    merges: text(node.schema['x-kubernetes-patch-strategy']).split(',').includes('merge'),
    mergeKey: text(node.schema['x-kubernetes-patch-merge-key']),
  };
}

const isSame = (a: unknown, b: unknown, mergeKey: string): boolean =>
  isRecord(a) && isRecord(b) ? equalJson(own(a, mergeKey), own(b, mergeKey)) : equalJson(a, b);

const position = (list: readonly unknown[], item: unknown, mergeKey: string): number =>
  list.findIndex((other) => isSame(other, item, mergeKey));

/**
 * The order of a merged list: what the patch names in the order of the patch, what only the server has in its own order,
 * interleaved by the server's order as far as that can be.
 */
export function inOrder(
  merged: readonly unknown[],
  patchOrder: readonly unknown[],
  serverOrder: readonly unknown[],
  mergeKey: string,
): unknown[] {
  const patched = merged
    .filter((item) => position(patchOrder, item, mergeKey) >= 0)
    .sort((a, b) => position(patchOrder, a, mergeKey) - position(patchOrder, b, mergeKey));
  const rest = merged.filter((item) => position(patchOrder, item, mergeKey) < 0);
  const serverOnly = rest
    .filter((item) => position(serverOrder, item, mergeKey) >= 0)
    .sort((a, b) => position(serverOrder, a, mergeKey) - position(serverOrder, b, mergeKey));
  const result: unknown[] = [];
  let i = 0;
  let j = 0;
  while (i < serverOnly.length || j < patched.length) {
    const takeServer =
      j >= patched.length || (i < serverOnly.length && isBefore(serverOnly[i], patched[j], serverOrder, mergeKey));
    result.push(takeServer ? serverOnly[i++] : patched[j++]);
  }
  return result;
}

function isBefore(a: unknown, b: unknown, order: readonly unknown[], mergeKey: string): boolean {
  const [at, other] = [position(order, a, mergeKey), position(order, b, mergeKey)];
  return at >= 0 && other >= 0 && at < other;
}

/** Takes out what `$patch` items ask for; `replaced` when the patch's items are the new list. */
function directives(
  original: readonly unknown[],
  patch: readonly unknown[],
  mergeKey: string,
): { original: readonly unknown[]; patch: Record<string, unknown>[]; replaced: boolean } {
  let left = original;
  let replaced = false;
  const plain: Record<string, unknown>[] = [];
  for (const item of patch) {
    if (!isRecord(item)) throw patchError('expected all elements in the list to be maps');
    if (!Object.hasOwn(item, PATCH)) {
      plain.push(item);
    } else if (item[PATCH] === 'delete') {
      if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
      left = left.filter((other) => !isSame(other, item, mergeKey));
    } else if (item[PATCH] === 'replace') {
      replaced = true;
    } else if (item[PATCH] === 'merge') {
      throw patchError('merging lists cannot yet be specified in the patch');
    } else {
      throw unknownPatchType(item[PATCH], item);
    }
  }
  return { original: left, patch: plain, replaced };
}

function mergeItems(
  original: readonly unknown[],
  patch: readonly unknown[],
  node: SchemaNode | undefined,
  mergeKey: string,
): unknown[] {
  if (mergeKey === '') throw patchError('cannot merge lists without merge key');
  const parts = directives(original, patch, mergeKey);
  if (parts.replaced) return parts.patch.map(plainValue);
  const merged: unknown[] = [...parts.original];
  for (const item of parts.patch) {
    if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
    const at = position(merged, item, mergeKey);
    if (at < 0) {
      const value = plainValue(item);
      if (value !== undefined) merged.push(value);
    } else {
      const before = merged[at];
      merged[at] = mergeMaps(isRecord(before) ? before : {}, item, node?.items);
    }
  }
  return inOrder(merged, parts.patch, parts.original, mergeKey);
}

/** Merges a list of the patch into the original's by its rule. */
export function mergeLists(
  original: readonly unknown[],
  patch: readonly unknown[],
  node: SchemaNode | undefined,
  rule: ListRule,
): unknown[] {
  if (!rule.merges) return patch.map(plainValue);
  const holdsMaps = isRecord(original[0] ?? patch[0]);
  if (holdsMaps) return mergeItems(original, patch, node, rule.mergeKey);
  const merged = [...original];
  for (const item of patch) if (position(merged, item, '') < 0) merged.push(item);
  return inOrder(merged, patch, original, '');
}

/** Takes the given scalars out of a list. */
export function deleteScalars(original: readonly unknown[], patch: unknown): unknown[] {
  if (!Array.isArray(patch)) throw formatError('invalid patch format of primitive list');
  return original.filter((item) => position(patch, item, '') < 0);
}
