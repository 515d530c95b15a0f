import type { Draw } from './draw.ts';
import { isJsonObject, type Json, type JsonObject, raw } from './json.ts';
import type { Schema, Schemas } from './schema.ts';
import { makeValue, QUANTITIES } from './values.ts';

interface Place {
  readonly holder: JsonObject | Json[];
  readonly key: string | number;
  readonly schema: Schema;
  /** For an item of a list, `field` is the name of the list. */
  readonly field: string;
}

/** Fields that identify the object are omitted, because a mutation must not change its name. */
function placesOf(schemas: Schemas, value: Json, given: Schema, field: string, places: Place[] = []): Place[] {
  const { schema } = schemas.resolve(given);
  if (Array.isArray(value))
    for (const [key, item] of value.entries()) {
      places.push({ holder: value, key, schema: schema.items ?? {}, field });
      placesOf(schemas, item, schema.items ?? {}, field, places);
    }
  else if (isJsonObject(value))
    for (const [key, item] of Object.entries(value)) {
      const rest = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {};
      const inner = schema.properties?.[key] ?? rest;
      places.push({ holder: value, key, schema: inner, field: key });
      placesOf(schemas, item, inner, key, places);
    }
  return places;
}

const WRONG: readonly Json[] = [
  null,
  null,
  '',
  'x',
  'X_y',
  ' ',
  'a/b/c',
  'a'.repeat(64),
  'a'.repeat(254),
  'é',
  '-a',
  'a.',
  '0',
  0,
  1,
  -1,
  1.5,
  65536,
  2147483648,
  raw('9007199254740993'),
  raw('9223372036854775808'),
  raw('1e3'),
  raw('-0'),
  true,
  false,
  [],
  {},
  [null],
  [''],
  ['a', 'a'],
  { a: 'b' },
  { '': '' },
  { A_b: null },
  '1Gi',
  '-5',
  '1e',
  '50%',
  '2024-01-01T00:00:00Z',
  '2024-02-30T00:00:00Z',
  '2024-13-01',
  'None',
  '1.2.3.4',
  '::1',
  'http://a b',
]; // prettier-ignore

const METADATA: readonly JsonObject[] = [
  { name: 'A' },
  { name: 'a_b' },
  { name: 'a'.repeat(254) },
  { name: 'a'.repeat(64) },
  { name: 'a.b' },
  { name: '' },
  { namespace: 'other' },
  { namespace: '' },
  { labels: { 'a b': 'c' } },
  { labels: { a: 'b c' } },
  { labels: { app: 'y' } },
  { labels: { a: 'b'.repeat(64) } },
  { labels: {} },
  { labels: null },
  { labels: { a: null } },
  { labels: { a: 1 } },
  { labels: { 'x/y/z': '' } },
  { labels: { 'example.dev/k': 'v' } },
  { annotations: { 'a b': 'c' } },
  { annotations: { a: '' } },
  { annotations: {} },
  { annotations: { 'A/B': 'c' } },
  { annotations: { a: null } },
  { annotations: { a: true } },
  { finalizers: ['f'] },
  { finalizers: ['example.dev/f', 'example.dev/f'] },
  { finalizers: ['example.dev/f'] },
  { finalizers: ['a b/c'] },
  { finalizers: [] },
  { finalizers: ['foregroundDeletion', 'orphan'] },
  { finalizers: ['kubernetes'] },
  {
    ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: '00000000-0000-0000-0000-000000000001' }],
  },
  { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: '' }] },
  { ownerReferences: [{ apiVersion: 'a/b/c', kind: 'X', name: 'o', uid: 'u' }] },
  { ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: 'o', uid: 'u' }] },
  { ownerReferences: [{}] },
  {
    ownerReferences: [
      { apiVersion: 'v1', kind: 'Pod', name: 'o', uid: 'u', controller: true },
      { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'v', controller: true, blockOwnerDeletion: true },
    ],
  },
  {
    ownerReferences: [
      { apiVersion: 'v1', kind: 'Pod', name: 'o', uid: 'u' },
      { apiVersion: 'v1', kind: 'Pod', name: 'o', uid: 'u' },
    ],
  },
  { uid: '00000000-0000-0000-0000-000000000009' },
  { uid: 'x' },
  { resourceVersion: '1' },
  { resourceVersion: 'x' },
  { resourceVersion: '' },
  { resourceVersion: '0' },
  { generation: 7 },
  { generation: -1 },
  { creationTimestamp: '2020-01-01T00:00:00Z' },
  { creationTimestamp: null },
  { creationTimestamp: 'x' },
  { deletionTimestamp: '2020-01-01T00:00:00Z' },
  { deletionGracePeriodSeconds: 5 },
  { selfLink: '/x' },
  { managedFields: [] },
  { managedFields: [{}] },
  {
    managedFields: [
      { manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:metadata': {} } },
    ],
  },
  { managedFields: [{ manager: 'm', operation: 'X', fieldsV1: {} }] },
  { generateName: 'g-' },
  { bogus: 1 },
]; // prettier-ignore

/** Changes one random part of an object in place: the metadata, a field, or an additional field. */
export function mutateOnce(draw: Draw, schemas: Schemas, object: JsonObject, schema: Schema): void {
  draw.weigh<() => void>([
    [5, () => Object.assign(metadataOf(object), structuredClone(draw.pick(METADATA)))],
    [14, () => addField(draw, schemas, object, schema)],
    [16, () => changeValue(draw, schemas, object, schema)],
    [
      1,
      () => {
        object[draw.pick(['bogus', 'kind', 'apiVersion', 'status', 'items'])] = draw.pick<Json>(['x', 1, null, {}, []]);
      },
    ],
  ])(); // prettier-ignore
}

function metadataOf(object: JsonObject): JsonObject {
  if (!isJsonObject(object['metadata'])) object['metadata'] = {};
  return object['metadata'] as JsonObject;
}

/**
 * Adds a missing field at a random position of an object. Sometimes, the schema does not contain the added
 * field.
 */
function addField(draw: Draw, schemas: Schemas, object: JsonObject, schema: Schema): void {
  const holders = [
    { value: object as Json, schema },
    ...placesOf(schemas, object, schema, '').map((place) => ({
      value: (place.holder as Record<string | number, Json>)[place.key] ?? null,
      schema: place.schema,
    })),
  ].flatMap(({ value, schema: given }) =>
    isJsonObject(value) ? [{ value, schema: schemas.resolve(given).schema }] : [],
  );
  const holder = draw.pick(holders);
  if (draw.chance(0.07)) {
    holder.value[draw.pick(['bogus', 'Name', 'spec', 'x y', ''])] = draw.pick<Json>([1, 'x', {}, [1], null]);
    return;
  }
  const missing = Object.entries(holder.schema.properties ?? {}).filter(([key]) => !(key in holder.value));
  if (missing.length === 0) return;
  const [key, property] = draw.pick(missing);
  if (key === 'managedFields') return;
  holder.value[key] = makeValue(draw, schemas, property, key, 2);
}

function changeValue(draw: Draw, schemas: Schemas, object: JsonObject, schema: Schema): void {
  const places = placesOf(schemas, object, schema, '').filter(
    ({ holder, key }) => holder !== object || !['apiVersion', 'kind', 'metadata'].includes(String(key)),
  );
  if (places.length === 0) return;
  const place = draw.pick(places);
  const holder = place.holder as Record<string | number, Json>;
  const old = holder[place.key] ?? null;
  draw.weigh<() => void>([
    [
      4,
      () => {
        if (Array.isArray(place.holder)) place.holder.splice(Number(place.key), 1);
        else delete holder[place.key];
      },
    ],
    [
      6,
      () => {
        holder[place.key] = structuredClone(draw.pick(WRONG));
      },
    ],
    [
      6,
      () => {
        holder[place.key] = makeValue(draw, schemas, place.schema, place.field, 2);
      },
    ],
    [
      2,
      () => {
        if (Array.isArray(old)) old.push(structuredClone(old[0] ?? null));
        else if (Array.isArray(place.holder)) place.holder.push(structuredClone(old));
      },
    ],
    [
      1,
      () => {
        if (Array.isArray(old)) old.reverse();
      },
    ],
    [
      2,
      () => {
        if (typeof old === 'string')
          holder[place.key] = draw.pick([
            `${old}x`,
            old.toUpperCase(),
            ` ${old}`,
            `${old}-`,
            old.repeat(70),
            draw.pick(QUANTITIES),
          ]);
      },
    ],
    [
      1,
      () => {
        if (typeof old === 'number')
          holder[place.key] = draw.pick<Json>([-old, old + 1, old + 0.5, String(old), old * 1e9]);
      },
    ],
    [
      1,
      () => {
        if (!Array.isArray(place.holder)) holder[`@twice@${place.key}`] = draw.pick(WRONG);
      },
    ],
  ])(); // prettier-ignore
}
