import { isRecord, own, put } from '../../apimachinery/objects/json-value.ts';
import type { SchemaNode } from '../../schema/model/node.ts';
import {
  DELETE_FROM_PRIMITIVE_LIST,
  formatError,
  goPlain,
  PATCH,
  patchError,
  plainValue,
  RETAIN_KEYS,
  SET_ELEMENT_ORDER,
  unknownPatchType,
} from './directives.ts';
import { deleteScalars, inOrder, listRule, mergeLists } from './lists.ts';

type Fields = Record<string, unknown>;

const childOf = (node: SchemaNode | undefined, key: string): SchemaNode | undefined =>
  node?.properties.get(key) ?? node?.additional;

const isReplaced = (node: SchemaNode | undefined): boolean =>
  String(node?.schema['x-kubernetes-patch-strategy'] ?? '')
    .split(',')
    .includes('replace');

/** `$retainKeys`: everything that the patch does not list goes. */
function retainKeys(original: Fields, patch: Fields): Fields {
  if (!Object.hasOwn(patch, RETAIN_KEYS)) return original;
  const keys = patch[RETAIN_KEYS];
  if (!Array.isArray(keys)) throw formatError('invalid patch format of retainKeys');
  const listed = new Set<unknown>(keys);
  for (const [key, value] of Object.entries(patch)) {
    const isDirective =
      key === RETAIN_KEYS || key.startsWith(SET_ELEMENT_ORDER) || key.startsWith(DELETE_FROM_PRIMITIVE_LIST);
    if (!isDirective && value !== null && !listed.has(key)) throw formatError('invalid patch format of retainKeys');
  }
  const kept: Fields = {};
  for (const key of Object.keys(original)) if (listed.has(key)) put(kept, key, original[key]);
  return kept;
}

/** The items of the patch must stand in the order that `$setElementOrder` gives them. */
function checkOrder(items: readonly unknown[], order: readonly unknown[], mergeKey: string): void {
  const wanted = items.filter((item) => !isRecord(item) || !Object.hasOwn(item, PATCH));
  const sorted = inOrder(wanted, order, [], mergeKey);
  if (sorted.length !== wanted.length || sorted.some((item, at) => item !== wanted[at])) {
    throw patchError(
      `The order in patch list:\n${goPlain(items)}\n doesn't match $setElementOrder list:\n${goPlain(order)}\n`,
    );
  }
}

/** The name of the type of an object, as Go's refusals show it. */
const structOf = ({ schema: { $id } }: SchemaNode): string =>
  typeof $id === 'string' ? ($id.split('.').at(-1) ?? '') : '';

/** An order is looked up in the type of the object, so it must be that of a list there. @throws StatusError 500 */
function checkListField(node: SchemaNode | undefined, field: string): void {
  if (node === undefined) return;
  const child = node.properties.get(field);
  if (child !== undefined) {
    if (child.types[0] === 'array') return;
    const type = child.properties.size > 0 ? 'struct' : child.types[0] === 'object' ? 'map' : (child.types[0] ?? '');
    throw patchError(`expected slice or array type, but got: ${type}`);
  }
  if (node.properties.size > 0)
    throw patchError(`unable to find api field in struct ${structOf(node)} for the json field "${field}"`);
  if (node.additional !== undefined)
    throw patchError('merging an object in json but data type is not struct, instead is: map');
}

/** Merges the lists that `$setElementOrder` speaks of; answers the fields that are done with. */
function orderLists(result: Fields, patch: Fields, node: SchemaNode | undefined): Set<string> {
  const done = new Set<string>();
  for (const directive of Object.keys(patch)) {
    if (!directive.startsWith(SET_ELEMENT_ORDER)) continue;
    const field = directive.slice(SET_ELEMENT_ORDER.length);
    const order = patch[directive];
    if (!Array.isArray(order)) throw formatError('invalid patch format of setElementOrder list');
    const child = childOf(node, field);
    const rule = listRule(child);
    checkListField(node, field);
    const deleted = own(patch, `${DELETE_FROM_PRIMITIVE_LIST}${field}`);
    const before = own(result, field);
    const original = Array.isArray(before) ? before : [];
    const change = own(patch, field);
    let merged: readonly unknown[] = deleted === undefined ? original : deleteScalars(original, deleted);
    if (Array.isArray(change)) {
      checkOrder(change, order, rule.mergeKey);
      merged = mergeLists(merged, change, child, rule, mergeMaps);
    } else if (change === null) {
      delete result[field];
      done.add(field);
      continue;
    }
    if (Array.isArray(before) || Array.isArray(change))
      put(result, field, inOrder(merged, order, original, rule.mergeKey));
    done.add(field);
    done.add(`${DELETE_FROM_PRIMITIVE_LIST}${field}`);
  }
  return done;
}

function mergeField(result: Fields, key: string, change: unknown, node: SchemaNode | undefined): void {
  const before = own(result, key);
  if (change === null) {
    delete result[key];
  } else if (isRecord(change) && isRecord(before)) {
    const child = childOf(node, key);
    put(result, key, isReplaced(child) ? plainValue(change) : mergeMaps(before, change, child));
  } else if (Array.isArray(change) && Array.isArray(before)) {
    const child = childOf(node, key);
    put(result, key, mergeLists(before, change, child, listRule(child), mergeMaps));
  } else {
    const value = plainValue(change);
    if (value !== undefined) put(result, key, value);
  }
}

/** Merges a map of the patch into the original's. The original is not changed. */
export function mergeMaps(original: Fields, patch: Fields, node: SchemaNode | undefined): Fields {
  if (Object.hasOwn(patch, PATCH)) {
    const { [PATCH]: directive, ...rest } = patch;
    if (directive === 'replace') return plainValue(rest) as Fields;
    if (directive === 'delete') return {};
    throw unknownPatchType(directive, patch);
  }
  const result: Fields = {};
  const retained = retainKeys(original, patch);
  for (const key of Object.keys(retained)) put(result, key, retained[key]);
  const done = orderLists(result, patch, node);
  for (const key of Object.keys(patch)) {
    if (done.has(key) || key === RETAIN_KEYS || key.startsWith(SET_ELEMENT_ORDER)) continue;
    if (key.startsWith(DELETE_FROM_PRIMITIVE_LIST)) {
      const field = key.slice(DELETE_FROM_PRIMITIVE_LIST.length);
      const before = own(result, field);
      if (Array.isArray(before)) put(result, field, deleteScalars(before, patch[key]));
    } else {
      mergeField(result, key, patch[key], node);
    }
  }
  return result;
}
