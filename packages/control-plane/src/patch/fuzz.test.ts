import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonSchema, KindDefinition } from '../apimachinery/objects/kind.ts';
import type { ApiObject, JsonObject } from '../apimachinery/objects/object.ts';
import { StatusError } from '../apimachinery/objects/status.ts';
import { decodeProtobuf } from '../protobuf/index.ts';
import { compileSchema } from '../schema/index.ts';
import { applyJsonPatch, applyMergePatch, applyStrategicMergePatch, serverSideApply, trackUpdate } from './index.ts';

const text: JsonSchema = { type: 'string' };
const schema: JsonSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        a: text,
        list: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          'x-kubernetes-patch-strategy': 'merge',
          'x-kubernetes-patch-merge-key': 'k',
          items: { type: 'object', properties: { k: text, v: { type: 'integer' } } },
        },
        map: { type: 'object', additionalProperties: text },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
};
const kind: KindDefinition = {
  group: 'g',
  version: 'v1',
  kind: 'K',
  listKind: 'KList',
  plural: 'ks',
  singular: 'k',
  namespaced: true,
  custom: true,
  schema,
};
const now = new Date('2024-01-01T00:00:00Z');

const key = fc.constantFrom(
  'a',
  'list',
  'map',
  'free',
  'k',
  'v',
  '$patch',
  '$setElementOrder/list',
  '$retainKeys',
  '__proto__',
  'constructor',
  '',
);
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, 0, 1.5, '', 'x', 'delete', 'replace'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((entries) => {
      const object: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
      for (const [name, value] of entries) object[name] = value;
      return JSON.parse(JSON.stringify(object)) as unknown;
    }),
  ),
})).value;

/** Generates objects that match the schema. */
const fitting = fc
  .record(
    {
      a: fc.string(),
      list: fc.uniqueArray(fc.record({ k: fc.constantFrom('1', '2', '3', '4'), v: fc.integer() }), {
        selector: (item) => item.k,
      }),
      map: fc.dictionary(fc.constantFrom('x', 'y', 'z', '__proto__'), fc.string()),
      free: fc.dictionary(fc.constantFrom('x', 'y'), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 }),
    },
    { requiredKeys: [] },
  )
  .map(
    (spec) => JSON.parse(JSON.stringify({ apiVersion: 'g/v1', kind: 'K', metadata: { name: 'x' }, spec })) as ApiObject,
  );

const objectOf = (spec: unknown): ApiObject => ({ apiVersion: 'g/v1', kind: 'K', metadata: { name: 'x' }, spec });

/** Runs a function that may throw the refusal of a request. */
function refusedOrDone(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(StatusError);
  }
}

const apply = (live: ApiObject | undefined, applied: ApiObject, manager: string, force = true): ApiObject =>
  serverSideApply({
    ...(live === undefined ? {} : { live }),
    applied,
    manager,
    force,
    schema,
    subresource: '',
    now,
    kind,
  });

describe('any input', () => {
  it('any patch is refused or applied, never crashes, and never changes a prototype', () => {
    const compiled = compileSchema(schema);
    fc.assert(
      fc.property(json, json, (target, change) => {
        const live = objectOf(target);
        // The type of objects does not say that all their fields are JSON.
        const tree = live as unknown as JsonObject;
        refusedOrDone(() => applyMergePatch(tree, change as JsonObject));
        refusedOrDone(() => applyStrategicMergePatch(tree, { spec: change } as JsonObject, schema));
        refusedOrDone(() => applyJsonPatch(tree, change));
        refusedOrDone(() => apply(live, objectOf(change), 'm'));
        refusedOrDone(() =>
          trackUpdate({ live, updated: objectOf(change), manager: 'm', schema, subresource: '', now, kind }),
        );
        const object = structuredClone(objectOf(change));
        compiled.prune(object);
        compiled.setDefaults(object);
        compiled.validate(object, live);
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
      { numRuns: 500, seed: 7 },
    );
  });

  it('as protobuf is refused or parsed', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        const envelope = Uint8Array.from([
          0x6b,
          0x38,
          0x73,
          0,
          10,
          9,
          10,
          2,
          118,
          49,
          18,
          3,
          80,
          111,
          100,
          18,
          bytes.length,
          ...bytes,
        ]);
        refusedOrDone(() => decodeProtobuf(bytes, () => undefined));
        refusedOrDone(() => decodeProtobuf(envelope, () => undefined));
      }),
      { numRuns: 500, seed: 7 },
    );
  });
});

describe('server-side apply', () => {
  it('server-side apply has the same result when applied twice', () => {
    fc.assert(
      fc.property(fitting, fitting, (first, second) => {
        const live = apply(apply(undefined, first, 'a'), second, 'b');
        expect(apply(live, second, 'b')).toEqual(live);
      }),
      { numRuns: 200, seed: 7 },
    );
  });

  it('an empty configuration removes what only this manager had added', () => {
    fc.assert(
      fc.property(fitting, fitting, (first, second) => {
        const base = apply(undefined, first, 'a');
        const both = apply(base, second, 'b', true);
        const { spec: _spec, ...nothing } = second;
        const after = apply(both, nothing as ApiObject, 'b');
        expect(after.metadata.managedFields?.some(({ manager }) => manager === 'b') ?? false).toBe(false);
      }),
      { numRuns: 200, seed: 7 },
    );
  });

  it('two appliers with different values always conflict without force', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        fc.pre(one !== other);
        const live = apply(undefined, objectOf({ a: one }), 'a');
        expect(() => apply(live, objectOf({ a: other }), 'b', false)).toThrow(/conflict with "a": \.spec\.a/);
      }),
      { numRuns: 50, seed: 7 },
    );
  });
});
