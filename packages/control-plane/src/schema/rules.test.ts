import { describe, expect, it } from 'vitest';
import type { JsonSchema } from '../apimachinery/objects/kind.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { compileSchema } from './compile.ts';

const objectOf = (spec: unknown): ApiObject => ({ apiVersion: 'g/v1', kind: 'K', metadata: { name: 'x' }, spec });
const rule = (source: string, more: Record<string, unknown> = {}): JsonSchema => ({
  'x-kubernetes-validations': [{ rule: source, ...more }],
});
const check = (spec: JsonSchema, value: unknown, old?: unknown): string[] =>
  compileSchema({ type: 'object', properties: { spec } })
    .validate(objectOf(value), old === undefined ? undefined : objectOf(old))
    .map((cause) => `${cause.field} ${cause.reason}: ${cause.message}`);
const text = { type: 'string' };
const int = { type: 'integer' };

describe('rules', () => {
  it('rules report the rule itself without a message', () => {
    const schema = { type: 'object', properties: { a: int }, ...rule('self.a > 1') };
    expect(check(schema, { a: 1 })).toEqual(['spec FieldValueInvalid: Invalid value: failed rule: self.a > 1']);
    expect(check(schema, { a: 2 })).toEqual([]);
  });

  it('rules use message, messageExpression, reason and fieldPath', () => {
    const more = { messageExpression: "'a is ' + string(self.a)", reason: 'FieldValueForbidden', fieldPath: '.a' };
    const schema = { type: 'object', properties: { a: int }, ...rule('self.a > 1', more) };
    expect(check(schema, { a: 1 })).toEqual(['spec.a FieldValueForbidden: Forbidden: a is 1']);
  });

  it('fall back to the message when the expression returns no usable text', () => {
    const schema = { type: 'string', ...rule('false', { message: 'plain', messageExpression: "''" }) };
    expect(check(schema, 'x')).toEqual(['spec FieldValueInvalid: Invalid value: "x": plain']);
  });

  it('rules are not evaluated for an object of wrong types, but for one that exceeds limits', () => {
    const schema = {
      type: 'object',
      required: ['b'],
      properties: { a: { type: 'integer', minimum: 5 } },
      ...rule('self.a > 1'),
    };
    expect(check(schema, { a: 1 })).toHaveLength(3);
    expect(check(schema, { a: 1 })[2]).toMatch(/some validation rules were not checked/);
    expect(check({ ...schema, required: [] }, { a: 1 })).toHaveLength(2);
  });

  it('rules are not evaluated for an object without a name', () => {
    const nameless: ApiObject = { apiVersion: 'g/v1', kind: 'K', metadata: {}, spec: 'x' };
    const schema = compileSchema({ type: 'object', properties: { spec: { type: 'string', ...rule('false') } } });
    expect(schema.validate(nameless).map(({ message }) => message)).toEqual([
      expect.stringMatching(/some validation rules were not checked/),
    ]);
  });

  it('a rule for a map of values without a type is an error of each value', () => {
    const values = { type: 'object', additionalProperties: { 'x-kubernetes-preserve-unknown-fields': true } };
    expect(check({ ...values, ...rule('true') }, { a: 1 })).toEqual([
      'spec FieldValueInvalid: Invalid value: "object": rule compiler initialization error: failed to convert to declType for CEL validation rules',
    ]);
  });

  it('a null property is absent, also if its schema allows null', () => {
    const inner = { type: 'object', nullable: true, properties: { x: text } };
    const schema = { type: 'object', properties: { a: inner }, ...rule('!has(self.a)') };
    expect(check(schema, { a: null })).toEqual([]);
    expect(check({ ...schema, ...rule('self.a == null') }, { a: null })).toEqual([
      'spec FieldValueInvalid: Invalid value: "object": no such key: a evaluating rule: self.a == null',
    ]);
  });

  it('rules report an error of evaluation', () => {
    const schema = { type: 'object', properties: { a: text }, ...rule('self.a == "x"') };
    expect(check(schema, {})).toEqual([
      'spec FieldValueInvalid: Invalid value: "object": no such key: a evaluating rule: self.a == "x"',
    ]);
  });

  it('rules report map keys and list items in the path', () => {
    const map = {
      type: 'object',
      additionalProperties: { type: 'string', ...rule('self != "bad"', { message: 'm' }) },
    };
    expect(check(map, { k: 'bad' })).toEqual(['spec[k] FieldValueInvalid: Invalid value: "bad": m']);
    const list = { type: 'array', items: { type: 'string', ...rule('self != "bad"', { message: 'm' }) } };
    expect(check(list, ['ok', 'bad'])).toEqual(['spec[1] FieldValueInvalid: Invalid value: "bad": m']);
  });
});

describe('transition rules', () => {
  const locked = {
    type: 'object',
    properties: { a: { type: 'string', ...rule('self == oldSelf', { message: 'locked' }) } },
  };

  it('transition rules are evaluated with an old and a new value, and not without an old one', () => {
    expect(check(locked, { a: 'x' })).toEqual([]);
    expect(check(locked, { a: 'x' }, {})).toEqual([]);
    expect(check(locked, { a: 'y' }, { a: 'x' })).toEqual(['spec.a FieldValueInvalid: Invalid value: "y": locked']);
  });

  it('transition rules with optionalOldSelf are always evaluated', () => {
    const source = '!oldSelf.hasValue() || oldSelf.value() == self';
    const once = {
      type: 'object',
      properties: { a: { type: 'string', ...rule(source, { optionalOldSelf: true, message: 'once' }) } },
    };
    expect(check(once, { a: 'x' }, {})).toEqual([]);
    expect(check(once, { a: 'y' }, { a: 'x' })).toEqual(['spec.a FieldValueInvalid: Invalid value: "y": once']);
  });

  it('match items of a list-map by key, in any order', () => {
    const schema = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
      items: {
        type: 'object',
        properties: { k: text, v: { type: 'string', ...rule('self == oldSelf', { message: 'locked' }) } },
      },
    };
    const old = [
      { k: 'a', v: '1' },
      { k: 'b', v: '2' },
    ];
    expect(
      check(
        schema,
        [
          { k: 'b', v: '2' },
          { k: 'c', v: '9' },
        ],
        old,
      ),
    ).toEqual([]);
    expect(check(schema, [{ k: 'b', v: '1' }], old)).toEqual([
      'spec[0].v FieldValueInvalid: Invalid value: "1": locked',
    ]);
  });

  it('transition rules ignore unchanged values that already violate a rule', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', ...rule("self == 'x'") }, b: text } };
    expect(check(schema, { a: 'bad', b: 'new' }, { a: 'bad', b: 'old' })).toEqual([]);
    expect(check(schema, { a: 'worse' }, { a: 'bad' })).toHaveLength(1);
  });

  it('warn about unchanged values that already violate a rule, also in lists without keys', () => {
    const items = { type: 'string', ...rule("self == 'x'") };
    const schema = {
      type: 'object',
      properties: { a: { type: 'array', items }, b: text, n: { ...int, ...rule('1 / self > 0') } },
    };
    const warned = (value: unknown, old: unknown): [string[], number] => {
      const texts: string[] = [];
      const compiled = compileSchema({ type: 'object', properties: { spec: schema } });
      const causes = compiled.validate(objectOf(value), objectOf(old), [], (one) => texts.push(one));
      return [texts, causes.length];
    };
    const words = `Invalid value: "bad": failed rule: self == 'x'`;
    expect(warned({ a: ['bad'], b: 'new' }, { a: ['bad'], b: 'old' })).toEqual([[`spec.a[0]: ${words}`], 0]);
    expect(warned({ a: ['bad', 'x'] }, { a: ['bad'] })).toEqual([[], 1]);
    // A rule whose evaluation fails causes an error, even if the value is unchanged.
    expect(warned({ n: 0, b: 'new' }, { n: 0, b: 'old' })).toEqual([[], 1]);
  });

  it.each([
    ['.m', 'spec.m'],
    ["['x-y'].z", 'spec.x-y.z'],
    ["['m']['k']", 'spec.m[k]'],
  ])('transition rules report the field of the path %s by the schema', (fieldPath, field) => {
    const properties = {
      m: { type: 'object', additionalProperties: int },
      'x-y': { type: 'object', properties: { z: int } },
    };
    const schema = { type: 'object', properties, ...rule('false', { fieldPath }) };
    expect(check(schema, {})[0]).toMatch(new RegExp(`^${field.replaceAll(/[[\].]/g, '\\$&')} `));
  });
});
