import { isRecord, own, put } from '../../apimachinery/objects/json-value.ts';
import type { SchemaNode } from '../../schema/model/node.ts';
import {
  badType,
  DELETE_FROM_PRIMITIVE_LIST,
  discardNulls,
  formatError,
  GO_LIST,
  GO_MAP,
  goPlain,
  goType,
  noMergeKey,
  PATCH,
  patchError,
  RETAIN_KEYS,
  SET_ELEMENT_ORDER,
  unknownPatchType,
  withoutDirectives,
} from './directives.ts';
import { holdMaps, mergeLists } from './lists.ts';
import { lookUp, lookUpList } from './lookup.ts';
import { inOrder, sameKey } from './order.ts';

type Fields = Record<string, unknown>;

/** Removes the keys from the original map that the directive `$retainKeys` does not list. */
function retainKeys(original: Fields, patch: Fields): void {
  if (!Object.hasOwn(patch, RETAIN_KEYS)) return;
  const keys = patch[RETAIN_KEYS];
  delete patch[RETAIN_KEYS];
  if (!Array.isArray(keys)) throw formatError('invalid patch format of retainKeys');
  const listed = new Set<unknown>(keys);
  for (const [key, value] of Object.entries(patch)) {
    const isDirective = key.startsWith(SET_ELEMENT_ORDER) || key.startsWith(DELETE_FROM_PRIMITIVE_LIST);
    if (!isDirective && value !== null && !listed.has(key)) throw formatError('invalid patch format of retainKeys');
  }
  for (const key of Object.keys(original)) if (!listed.has(key)) delete original[key];
}

/**
 * Returns whether an item of the patch and an item of the requested order are the same item.
 * @throws StatusError 500 if an item has no merge key
 */
function isSame(item: unknown, other: unknown, mergeKey: string): boolean {
  if (mergeKey === '') return sameKey(item, other);
  for (const each of [item, other]) {
    if (!isRecord(each)) throw badType(GO_MAP, each);
    if (!Object.hasOwn(each, mergeKey)) throw noMergeKey(each, mergeKey);
  }
  return sameKey((item as Fields)[mergeKey], (other as Fields)[mergeKey]);
}

/**
 * Verifies that the items of the patch have the order in `$setElementOrder`.
 * @throws StatusError 500 if the order differs
 */
function checkOrder(items: readonly unknown[], order: readonly unknown[], mergeKey: string): void {
  if (items.length === 0 || order.length === 0) return;
  if (mergeKey !== '') for (const item of items) if (!isRecord(item)) throw badType(GO_MAP, item);
  const wanted = items.filter((item) => !isRecord(item) || !Object.hasOwn(item, PATCH));
  let at = 0;
  for (const place of order) {
    if (at >= wanted.length) break;
    if (isSame(wanted[at], place, mergeKey)) at++;
  }
  if (at < wanted.length) {
    throw patchError(
      `The order in patch list:\n${goPlain(items)}\n doesn't match $setElementOrder list:\n${goPlain(order)}\n`,
    );
  }
}

const listAt = (fields: Fields, key: string): readonly unknown[] | undefined => {
  if (!Object.hasOwn(fields, key)) return undefined;
  const list = fields[key];
  if (!Array.isArray(list)) throw badType(GO_LIST, list);
  return list;
};

/** Merges the lists for which the patch contains a `$setElementOrder` directive. */
function orderLists(original: Fields, patch: Fields, node: SchemaNode | undefined): void {
  for (const directive of Object.keys(patch)) {
    if (!directive.startsWith(SET_ELEMENT_ORDER)) continue;
    const order = patch[directive];
    delete patch[directive];
    if (!Array.isArray(order)) throw badType(GO_LIST, order);
    const key = directive.slice(SET_ELEMENT_ORDER.length);
    const before = listAt(original, key);
    const change = listAt(patch, key);
    const field = lookUpList(node, key);
    checkOrder(change ?? [], order, field.mergeKey);
    if (before === undefined && change === undefined) continue;
    const merged =
      change === undefined
        ? (before ?? [])
        : before === undefined
          ? (withoutDirectives(change) as readonly unknown[])
          : mergeLists(before, change, field, false, mergeMaps);
    const areMaps = holdMaps(before ?? [], change ?? []);
    put(original, key, inOrder(merged, order, before ?? [], field.mergeKey, areMaps));
    delete patch[key];
  }
}

function take(original: Fields, key: string, value: unknown): void {
  discardNulls(value);
  const kept = withoutDirectives(value);
  if (kept === undefined) delete original[key];
  else put(original, key, kept);
}

function mergeField(
  original: Fields,
  key: string,
  change: unknown,
  deletes: boolean,
  node: SchemaNode | undefined,
): void {
  if (change === null) {
    delete original[key];
    return;
  }
  const before = own(original, key);
  if (!Object.hasOwn(original, key) || goType(before) !== goType(change)) {
    if (!deletes) take(original, key, change);
  } else if (isRecord(change) && isRecord(before)) {
    const field = lookUp(node, key);
    put(original, key, field.strategy === 'replace' ? change : mergeMaps(before, change, field.node));
  } else if (Array.isArray(change) && Array.isArray(before)) {
    put(original, key, mergeLists(before, change, lookUpList(node, key), deletes, mergeMaps));
  } else put(original, key, change);
}

/**
 * Merges the patch into the original map.
 * @throws StatusError 400, 422 or 500 if the patch is invalid
 */
export function mergeMaps(original: Fields, patch: Fields, node: SchemaNode | undefined): Fields {
  if (Object.hasOwn(patch, PATCH)) {
    const { [PATCH]: directive, ...rest } = patch;
    if (directive === 'replace') return rest;
    if (directive === 'delete') return {};
    throw unknownPatchType(directive, patch);
  }
  retainKeys(original, patch);
  orderLists(original, patch, node);
  for (const key of Object.keys(patch)) {
    const deletes = key.startsWith(DELETE_FROM_PRIMITIVE_LIST);
    const field = deletes ? key.slice(DELETE_FROM_PRIMITIVE_LIST.length) : key;
    mergeField(original, field, patch[key], deletes, node);
  }
  return original;
}
