import { describe, expect, it } from 'vitest';
import type { JsonSchema } from '../apimachinery/objects/kind.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { compileSchema } from './compile.ts';

const schemaOf = (spec: JsonSchema): JsonSchema => ({ type: 'object', properties: { spec } });
const objectOf = (spec: unknown): ApiObject => ({ apiVersion: 'g/v1', kind: 'K', metadata: { name: 'x' }, spec });
const messages = (spec: JsonSchema, value: unknown, old?: unknown): string[] =>
  compileSchema(schemaOf(spec))
    .validate(objectOf(value), old === undefined ? undefined : objectOf(old))
    .map((cause) => `${cause.field}: ${cause.message}`);
const fields = (properties: Record<string, JsonSchema>, rest: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties,
  ...rest,
});

describe('pruning', () => {
  const schema = compileSchema(
    schemaOf(
      fields({
        known: { type: 'string' },
        free: fields({ inner: fields({ a: { type: 'string' } }) }, { 'x-kubernetes-preserve-unknown-fields': true }),
        items: { type: 'array', items: fields({ a: { type: 'string' } }) },
        map: { type: 'object', additionalProperties: fields({ a: { type: 'string' } }) },
        template: fields({}, { 'x-kubernetes-embedded-resource': true }),
      }),
    ),
  );

  it('pruning removes unknown fields and returns their paths, sorted', () => {
    const object = objectOf({ known: 'a', odd: 1, items: [{ a: 'x' }, { b: 'y' }], map: { k: { a: 'x', c: 1 } } });
    object.junk = true;
    expect(schema.prune(object)).toEqual(['junk', 'spec.items[1].b', 'spec.map.k.c', 'spec.odd']);
    expect(object).toEqual(objectOf({ known: 'a', items: [{ a: 'x' }, {}], map: { k: { a: 'x' } } }));
  });

  it('pruning keeps unknown fields of a preserving node, and prunes in its known fields', () => {
    const object = objectOf({ free: { any: { thing: 1 }, inner: { a: 'x', b: 1 } } });
    expect(schema.prune(object)).toEqual(['spec.free.inner.b']);
    expect(object.spec).toEqual({ free: { any: { thing: 1 }, inner: { a: 'x' } } });
  });

  it('pruning keeps apiVersion, kind and metadata of the object and of embedded resources', () => {
    const template = { apiVersion: 'v1', kind: 'P', metadata: { anything: 1 }, more: 1 };
    const object = objectOf({ template });
    expect(schema.prune(object)).toEqual(['spec.template.more']);
  });

  it('a search for unknown fields finds the pruned fields without changing the object', () => {
    const object = objectOf({ odd: 1 });
    expect(schema.unknownFields(object)).toEqual(['spec.odd']);
    expect(object.spec).toEqual({ odd: 1 });
  });

  it('pruning treats keys with the names of prototypes as normal keys', () => {
    const object = objectOf(JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}'));
    expect(schema.prune(object)).toEqual(['spec.__proto__', 'spec.constructor']);
    expect(Object.keys(object.spec as object)).toEqual([]);
  });
});

describe('defaulting', () => {
  const schema = compileSchema({
    type: 'object',
    properties: {
      spec: fields(
        {
          size: { type: 'integer', default: 1 },
          note: { type: 'string', nullable: true, default: 'none' },
          title: { type: 'string' },
          maybe: { type: 'string', nullable: true },
          deep: fields({ a: { type: 'integer', default: 7 } }),
          limits: { type: 'object', additionalProperties: { type: 'string' } },
          ports: { type: 'array', items: fields({ protocol: { type: 'string', default: 'TCP' } }) },
        },
        { default: {} },
      ),
    },
  });
  const defaulted = (spec: unknown): unknown => {
    const object = objectOf(spec);
    if (spec === undefined) delete object.spec;
    schema.setDefaults(object);
    return object.spec;
  };

  it('defaulting sets a default object and then its missing fields, but creates no parent without a default', () => {
    expect(defaulted(undefined)).toEqual({ size: 1, note: 'none' });
    expect(defaulted({ deep: {}, ports: [{}] })).toMatchObject({ deep: { a: 7 }, ports: [{ protocol: 'TCP' }] });
  });

  it('defaulting treats null as absent unless the schema allows null', () => {
    expect(defaulted({ size: null, note: null, title: null, maybe: null })).toEqual({
      size: 1,
      note: null,
      maybe: null,
    });
    expect(defaulted(null)).toEqual({ size: 1, note: 'none' });
    expect(defaulted({ limits: { a: null, b: 'x' } })).toMatchObject({ limits: { b: 'x' } });
  });

  it('defaulting never shares a default between objects', () => {
    const first = defaulted(undefined) as Record<string, unknown>;
    first.size = 99;
    expect(defaulted(undefined)).toEqual({ size: 1, note: 'none' });
  });
});

describe('validation', () => {
  it.each([
    [{ type: 'integer' }, '3', 'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"'],
    [{ type: 'string' }, 3, 'spec.a: Invalid value: "integer": spec.a in body must be of type string: "integer"'],
    [{ type: 'array' }, 'x', 'spec.a: Invalid value: "string": spec.a in body must be of type array: "string"'],
    [{ type: 'object' }, [], 'spec.a: Invalid value: "array": spec.a in body must be of type object: "array"'],
    [{ type: 'string' }, null, 'spec.a: Invalid value: "null": spec.a in body must be of type string: "null"'],
    [
      { type: 'integer', minimum: 0 },
      -1,
      'spec.a: Invalid value: -1: spec.a in body should be greater than or equal to 0',
    ],
    [
      { type: 'integer', maximum: 9 },
      10,
      'spec.a: Invalid value: 10: spec.a in body should be less than or equal to 9',
    ],
    [
      { type: 'number', minimum: 0, exclusiveMinimum: true },
      0,
      'spec.a: Invalid value: 0: spec.a in body should be greater than 0',
    ],
    [{ type: 'integer', multipleOf: 3 }, 4, 'spec.a: Invalid value: 4: spec.a in body should be a multiple of 3'],
    // Go refuses this pattern, although JavaScript accepts it.
    [
      { type: 'string', pattern: '(?=a)' },
      'a',
      'spec.a: Invalid value: "a": spec.a in body should match \'(?=a), but pattern is invalid: error parsing regexp: invalid or unsupported Perl syntax: `(?=`\'',
    ],
    [{ type: 'string', pattern: '^a+$' }, 'b', 'spec.a: Invalid value: "b": spec.a in body should match \'^a+$\''],
    [
      { type: 'string', minLength: 2 },
      'é',
      'spec.a: Invalid value: "é": spec.a in body should be at least 2 chars long',
    ],
    [{ type: 'string', maxLength: 2 }, 'abc', 'spec.a: Too long: may not be more than 2 bytes'],
    [{ type: 'string', enum: ['x', 'y'] }, 'z', 'spec.a: Unsupported value: "z": supported values: "x", "y"'],
    [
      { type: 'string', format: 'date-time' },
      'soon',
      'spec.a: Invalid value: "soon": spec.a in body must be of type date-time: "soon"',
    ],
    [
      { type: 'string', format: 'ipv4' },
      '::1',
      'spec.a: Invalid value: "::1": spec.a in body must be of type ipv4: "::1"',
    ],
    [{ type: 'array', maxItems: 1 }, [1, 2], 'spec.a: Too many: 2: must have at most 1 item'],
    [{ type: 'array', minItems: 2 }, [1], 'spec.a: Invalid value: 1: spec.a in body should have at least 2 items'],
    [{ type: 'object', maxProperties: 1 }, { a: 1, b: 2 }, 'spec.a: Too many: 2: must have at most 1 item'],
    [
      { 'x-kubernetes-int-or-string': true },
      1.5,
      'spec.a: Invalid value: "number": spec.a in body must be of type integer,string: "number"',
    ],
    [{ type: 'object', required: ['b'] }, {}, 'spec.a.b: Required value'],
    [
      { type: 'array', items: { type: 'string' } },
      ['x', 1],
      'spec.a[1]: Invalid value: "integer": spec.a[1] in body must be of type string: "integer"',
    ],
    [
      { type: 'object', not: { required: ['x'] } },
      { x: 1 },
      '<nil>: Invalid value: "": "spec.a" must not validate the schema (not)',
    ],
  ] as [JsonSchema, unknown, string][])('%j refuses %j', (schema, value, expected) => {
    expect(messages(fields({ a: schema }), { a: value })).toEqual([expected]);
  });

  it.each([
    [{ type: 'number' }, 2],
    [{ type: 'integer' }, 5],
    [{ type: 'string', nullable: true }, null],
    [{ 'x-kubernetes-int-or-string': true }, 'http'],
    [{ type: 'string', format: 'date-time' }, '2020-02-29T23:59:59.5+01:00'],
    [{ type: 'string', format: 'not-a-format' }, 'anything'],
    [{ type: 'string', pattern: '(?i)^ABC$' }, 'abc'],
  ] as [JsonSchema, unknown][])('%j accepts %j', (schema, value) => {
    expect(messages(fields({ a: schema }), { a: value })).toEqual([]);
  });

  it('validation reports a fraction twice for an integer with a format, as the real server does', () => {
    expect(messages(fields({ a: { type: 'integer', format: 'int32' } }), { a: 1.5 })).toEqual([
      'spec.a: Invalid value: "float64": spec.a in body must be of type int32: "float64"',
      '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.a',
    ]);
  });

  it('validation reports the errors of the closest of several schemas', () => {
    const choice = fields(
      { a: { type: 'string' }, b: { type: 'string' } },
      { oneOf: [{ required: ['a'] }, { required: ['b'] }] },
    );
    expect(messages(choice, {})).toEqual([
      '<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid',
      'spec.a: Required value',
    ]);
    expect(messages(choice, { a: '1', b: '2' })).toEqual([
      '<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ]);
  });

  it('validation reports limits that are no integers, and compares integers with these limits as numbers', () => {
    const limited = (more: JsonSchema): JsonSchema => fields({ a: { type: 'integer', ...more } });
    expect(messages(limited({ multipleOf: 0.5 }), { a: 3 })).toEqual([
      '<nil>: Invalid value: "": MultipleOf value must be of type integer (default format) in spec.a',
    ]);
    expect(messages(limited({ minimum: 1.5 }), { a: 1 })).toEqual([
      '<nil>: Invalid value: "": Minimum boundary value must be of type integer (default format) in spec.a',
      'spec.a: Invalid value: 1: spec.a in body should be greater than or equal to 1.5',
    ]);
    expect(messages(limited({ minimum: 5, maximum: 3 }), { a: 4 })).toEqual([
      'spec.a: Invalid value: 4: spec.a in body should be greater than or equal to 5',
      'spec.a: Invalid value: 4: spec.a in body should be less than or equal to 3',
    ]);
  });

  it('validation reports missing and wrong properties of an object with too many properties', () => {
    const many = fields({ a: { type: 'string' }, b: { type: 'string' } }, { required: ['c'], maxProperties: 1 });
    expect(messages(many, { a: '1', b: 2 })).toEqual([
      'spec: Too many: 2: must have at most 1 item',
      expect.stringContaining('spec.b: Invalid value'),
      'spec.c: Required value',
    ]);
  });

  it('validation refuses repeated keys of a list-map and items of a set', () => {
    const list = fields({
      ports: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['port', 'protocol'],
        items: fields({ port: { type: 'integer' }, protocol: { type: 'string' } }),
      },
      tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
    });
    const ports = [{ protocol: 'TCP', port: 1 }, { port: 1 }, { port: 1, protocol: 'TCP' }];
    expect(messages(list, { ports, tags: ['a', 'b', 'a'] })).toEqual([
      'spec.ports[2]: Duplicate value: {"port":1,"protocol":"TCP"}',
      'spec.tags[2]: Duplicate value: "a"',
    ]);
  });

  it('unchanged stored values are not validated again', () => {
    const schema = fields({ a: { type: 'string', maxLength: 1 }, b: { type: 'string' } });
    expect(messages(schema, { a: 'long', b: 'new' }, { a: 'long', b: 'old' })).toEqual([]);
    expect(messages(schema, { a: 'other' }, { a: 'long' })).toEqual(['spec.a: Too long: may not be more than 1 byte']);
  });

  it('matches items of list-maps by key, and never objects with unknown fields', () => {
    const items = fields({ id: { type: 'string' }, v: { type: 'integer' } });
    const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['id'] };
    const spec: JsonSchema = { ...fields({ k: { type: 'array', items, ...keyed } }), required: ['late'] };
    const [a, b] = [
      { id: 'a', v: 1 },
      { id: 'b', v: 2 },
    ];
    const late = ['spec.late: Required value'];
    expect(messages(spec, { k: [b, a] }, { k: [a, b] })).toEqual([]);
    expect(messages(spec, { k: [b, { id: 'a', v: 3 }] }, { k: [a, b] })).toEqual(late);
    const open: JsonSchema = { ...spec, 'x-kubernetes-preserve-unknown-fields': true };
    expect(messages(open, { odd: 1 }, { odd: 1 })).toEqual(late);
    const plain: JsonSchema = { ...fields({ k: { type: 'array', items } }), required: ['late'] };
    expect(messages(plain, { k: [b, a] }, { k: [a, b] })).toEqual(late);
  });

  it('validation supports a recursive schema', () => {
    const schema: JsonSchema = { type: 'object', properties: {} };
    schema.properties = { child: schema };
    const compiled = compileSchema(schema);
    const object = objectOf(undefined);
    object.child = { child: { odd: 1 } };
    delete object.spec;
    compiled.setDefaults(object);
    expect(compiled.validate(object)).toEqual([]);
    expect(compiled.prune(object)).toEqual(['child.child.odd']);
  });
});

describe('validateRules', () => {
  const rules = { 'x-kubernetes-validations': [{ rule: 'has(self.a)', message: 'needs a' }] };
  const schema = compileSchema(schemaOf(fields({ a: { type: 'string' } }, rules)), { celRules: true });

  it.each([
    [5, 'invalid data, expected a map for the provided schema with type=object evaluating rule: needs a'],
    [{}, 'needs a'],
  ])('evaluates rules for %j without a validation of its type', (value, why) => {
    const found = schema.validateRules([], objectOf(value)).map(({ message }) => message);
    expect(found).toEqual([expect.stringContaining(why)]);
  });
});
