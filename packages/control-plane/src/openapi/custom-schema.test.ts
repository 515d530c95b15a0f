import { expect, it } from 'vitest';
import { publishedSchema, schemaInV2 } from './custom-schema.ts';

const fields = { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { allOf: [] } };
const EITHER = [{ type: 'integer' }, { type: 'string' }];

it('gives an int-or-string both types in OpenAPI v3, at any depth', () => {
  const either = { 'x-kubernetes-int-or-string': true };
  const schema = {
    type: 'object',
    properties: {
      a: either,
      list: { type: 'array', items: either },
      map: { type: 'object', additionalProperties: either },
      own: { ...either, allOf: [{ anyOf: EITHER }] },
    },
  };
  expect(publishedSchema(schema, { isV2: false, resourceFields: fields })).toEqual({
    type: 'object',
    properties: {
      a: { ...either, anyOf: EITHER },
      list: { type: 'array', items: { ...either, anyOf: EITHER } },
      map: { type: 'object', additionalProperties: { ...either, anyOf: EITHER } },
      own: { ...either, allOf: [{ anyOf: EITHER }] },
    },
  });
  expect(publishedSchema(schema, { isV2: true, resourceFields: fields })).toEqual(schema);
});

it('gives an embedded resource the fields of an object, but in OpenAPI v2 only where no unknown ones are kept', () => {
  const open = { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true };
  const published = { ...open, properties: fields, required: ['kind', 'apiVersion'] };
  expect(publishedSchema(open, { isV2: false, resourceFields: fields })).toEqual(published);
  expect(publishedSchema(open, { isV2: true, resourceFields: fields })).toEqual(open);
});

it('publishes no boolean that is false, as in a CRD that was written as protobuf', () => {
  const flags = {
    nullable: false,
    uniqueItems: false,
    'x-kubernetes-embedded-resource': false,
    'x-kubernetes-int-or-string': false,
    'x-kubernetes-preserve-unknown-fields': false,
  };
  const schema = {
    type: 'object',
    ...flags,
    properties: { list: { type: 'array', items: { type: 'string', ...flags } } },
  };
  const published = { type: 'object', properties: { list: { type: 'array', items: { type: 'string' } } } };
  for (const isV2 of [true, false])
    expect(publishedSchema(schema, { isV2, resourceFields: fields })).toEqual(published);
});

const KEEP = { 'x-kubernetes-preserve-unknown-fields': true };
const text = { type: 'string' };

it.each<[what: string, schema: object, published: object]>([
  ['an open object has no type and no known fields', { type: 'object', ...KEEP, properties: { a: text } }, KEEP],
  ['an open list has no type and no items', { type: 'array', ...KEEP, items: text }, KEEP],
  ['an open text has a type', { type: 'string', ...KEEP }, { type: 'string', ...KEEP }],
  ['a list without items has no type', { type: 'array', description: 'd' }, { description: 'd' }],
  [
    'a value that may be null has no type',
    { type: 'object', nullable: true, properties: { a: text }, required: ['a'] },
    { required: ['a'] },
  ],
  [
    'a field that may be null is not required',
    { type: 'object', properties: { a: { ...text, nullable: true }, b: text }, required: ['a', 'b'] },
    { type: 'object', properties: { a: {}, b: text }, required: ['b'] },
  ],
  [
    'a map whose values may be null has no required keys',
    { type: 'object', additionalProperties: { ...text, nullable: true }, required: ['a'] },
    { type: 'object', additionalProperties: {} },
  ],
  [
    'combined schemas and defaults are missing at any depth',
    { type: 'array', items: { ...text, default: 'x', oneOf: [{}], anyOf: [{}], allOf: [{}], not: {} } },
    { type: 'array', items: text },
  ],
])('in OpenAPI v2, %s', (_what, schema, published) => {
  expect(schemaInV2(schema as never)).toEqual(published);
});
