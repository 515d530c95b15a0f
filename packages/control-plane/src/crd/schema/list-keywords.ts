import { forbidden, invalid, notSupported, required } from '../../apimachinery/errors/schema-causes.ts';
import { isRecord, own } from '../../apimachinery/objects/json-value.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { type Fields, record, text, texts } from './fields.ts';

export function wantType(type: string, wanted: string, path: string, extension: string): StatusCause[] {
  if (type === wanted) return [];
  const words = `must be ${wanted} if ${extension}`;
  return [type === '' ? required(`${path}.type`, words) : invalid(`${path}.type`, type, words)];
}

const ITEM_WORDS = 'must be atomic as item of a list with x-kubernetes-list-type=set';

function validateSet(items: Fields, path: string): StatusCause[] {
  const listType = items['x-kubernetes-list-type'] ?? undefined;
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    // As in kube-apiserver, an error about the map type of list items quotes the list type.
    return [invalid(`${path}.items.x-kubernetes-map-type`, listType ?? null, ITEM_WORDS)];
  }
  if (items.type === 'array' && listType !== undefined && listType !== 'atomic') {
    return [invalid(`${path}.items.x-kubernetes-list-type`, listType, ITEM_WORDS)];
  }
  return [];
}

function validateKeys(keys: readonly string[], items: Fields, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  const seen = new Set<string>();
  for (const key of keys) {
    const property = own(record(items.properties), key);
    const at = `${path}.x-kubernetes-list-map-keys`;
    if (!isRecord(property)) causes.push(invalid(at, keys, 'entries must all be names of item properties'));
    else if (property.type === 'array' || property.type === 'object') {
      const words = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      causes.push(invalid(`${path}.items.properties[${key}].type`, items.type, words));
    }
    if (seen.has(key)) causes.push(invalid(at, keys, 'must not contain duplicate entries'));
    seen.add(key);
  }
  return causes;
}

function validateMap(schema: Fields, path: string, keys: readonly string[]): StatusCause[] {
  const causes: StatusCause[] = [];
  if (keys.length === 0) {
    causes.push(required(`${path}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map'));
  }
  const items = schema.items ?? undefined;
  if (items === undefined) {
    causes.push(required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'));
  } else if (!isRecord(items)) {
    causes.push(invalid(`${path}.items`, items, 'must only have a single schema if x-kubernetes-list-type is map'));
  } else if (items.type === 'object') causes.push(...validateKeys(keys, items, path));
  else {
    const words = "must be object if parent array's x-kubernetes-list-type is map";
    causes.push(invalid(`${path}.items.type`, text(items.type), words));
  }
  return causes;
}

/** Validates the items of a set or map. */
function validateItems(schema: Fields, path: string, listType: string, keys: readonly string[]): StatusCause[] {
  const causes: StatusCause[] = [];
  const items = record(schema.items);
  if (items.nullable === true) {
    causes.push(forbidden(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`));
  }
  for (const key of listType === 'map' ? keys : []) {
    const property = own(record(items.properties), key);
    if (!isRecord(property)) continue;
    const field = `${path}.items.properties[${key}]`;
    if (!texts(items.required).includes(key) && (property.default ?? undefined) === undefined) {
      const words =
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property';
      causes.push(required(`${field}.default`, words));
    }
    if (property.nullable !== true) continue;
    const words = 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable';
    causes.push(forbidden(`${field}.nullable`, words));
  }
  return causes;
}

export function validateListKeywords(schema: Fields, path: string): StatusCause[] {
  const causes: StatusCause[] = [];
  const listType = schema['x-kubernetes-list-type'] ?? undefined;
  const keys = texts(schema['x-kubernetes-list-map-keys']);
  const at = `${path}.x-kubernetes-list-type`;
  if (listType !== undefined) {
    const typeCauses = wantType(text(schema.type), 'array', path, 'x-kubernetes-list-type is specified');
    causes.push(...typeCauses);
    if (typeCauses.length === 0 && listType === 'set') causes.push(...validateSet(record(schema.items), path));
    if (listType !== 'atomic' && listType !== 'set' && listType !== 'map') {
      causes.push(notSupported(at, listType, ['atomic', 'set', 'map']));
    }
  }
  if (keys.length > 0 && listType !== 'map') {
    const words = 'must be map if x-kubernetes-list-map-keys is non-empty';
    causes.push(listType === undefined ? required(at, words) : invalid(at, listType, words));
  }
  if (listType === 'map') causes.push(...validateMap(schema, path, keys));
  if (listType === 'map' || listType === 'set') causes.push(...validateItems(schema, path, listType, keys));
  return causes;
}
