import { describe, expect, it } from 'vitest';
import type { JsonSchema, KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject, ManagedFieldsEntry } from '../../apimachinery/objects/object.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import { type ApplyInput, serverSideApply } from './apply.ts';
import { trackUpdate } from './update.ts';

const schema: JsonSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer' },
        note: { type: 'string' },
        args: { type: 'array', items: { type: 'string' } },
        tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        atom: {
          type: 'object',
          'x-kubernetes-map-type': 'atomic',
          properties: { x: { type: 'integer' }, y: { type: 'integer' } },
        },
        limits: { type: 'object', additionalProperties: { type: 'string' } },
        closed: { type: 'object', additionalProperties: false },
        open: {
          type: 'object',
          'x-kubernetes-preserve-unknown-fields': true,
          properties: {
            size: { type: 'integer' },
            list: { type: 'array', items: { type: 'object', properties: { size: { type: 'integer' } } } },
            inner: { type: 'object', properties: { size: { type: 'integer' } } },
          },
        },
        ports: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'protocol'],
          items: {
            type: 'object',
            properties: {
              port: { type: 'integer' },
              protocol: { type: 'string', default: 'TCP' },
              name: { type: 'string' },
            },
          },
        },
      },
    },
    status: { type: 'object', properties: { phase: { type: 'string' } } },
  },
};
const kind: KindDefinition = {
  group: 'g.example',
  version: 'v1',
  kind: 'Thing',
  listKind: 'ThingList',
  plural: 'things',
  singular: 'thing',
  namespaced: true,
  custom: true,
  schema,
  subresources: { status: true },
};

const at = (second: number): Date => new Date(Date.UTC(2024, 0, 1, 0, 0, second));

type Content = Record<string, unknown> & { metadata?: ApiObject['metadata'] };

const objectOf = (content: Content, metadata: ApiObject['metadata'] = {}): ApiObject => ({
  apiVersion: 'g.example/v1',
  kind: 'Thing',
  ...content,
  metadata: { name: 'x', ...metadata, ...content.metadata },
});

function write(
  live: ApiObject | undefined,
  content: Content,
  manager: string,
  second = 1,
  subresource = '',
): ApiObject {
  const updated = objectOf(content, live === undefined ? { uid: 'u' } : live.metadata);
  const entries = trackUpdate({
    ...(live === undefined ? {} : { live }),
    updated,
    manager,
    schema,
    subresource,
    now: at(second),
    kind,
  });
  return { ...updated, metadata: { ...updated.metadata, managedFields: entries } };
}

function apply(
  live: ApiObject | undefined,
  content: Content,
  manager: string,
  more: Partial<ApplyInput> = {},
): ApiObject {
  const applied = objectOf(content);
  return serverSideApply({
    ...(live === undefined ? {} : { live }),
    applied,
    manager,
    force: false,
    schema,
    subresource: '',
    now: at(9),
    kind,
    ...more,
  });
}

const entryOf = (object: ApiObject, manager: string): ManagedFieldsEntry | undefined =>
  object.metadata.managedFields?.find((entry) => entry.manager === manager);
const fieldsOf = (object: ApiObject, manager: string): unknown => entryOf(object, manager)?.fieldsV1;

const refusal = (run: () => unknown): StatusError['status'] => {
  try {
    run();
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
  throw new Error('nothing was refused');
};

describe('updates', () => {
  it('updates make the creator the manager of every field, list items by key and set items by value', () => {
    const spec = {
      size: 1,
      tags: ['a'],
      args: ['x'],
      atom: { x: 1 },
      limits: { cpu: '1' },
      ports: [{ port: 1, name: 'n' }],
    };
    const object = write(undefined, { spec, metadata: { labels: { l: '1' }, finalizers: ['f'] } }, 'm');
    expect(object.metadata.managedFields).toEqual([
      {
        manager: 'm',
        operation: 'Update',
        apiVersion: 'g.example/v1',
        time: '2024-01-01T00:00:01Z',
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:metadata': { 'f:finalizers': { '.': {}, 'v:"f"': {} }, 'f:labels': { '.': {}, 'f:l': {} } },
          'f:spec': {
            '.': {},
            'f:args': {},
            'f:atom': {},
            'f:limits': { '.': {}, 'f:cpu': {} },
            'f:ports': { '.': {}, 'k:{"port":1,"protocol":"TCP"}': { '.': {}, 'f:name': {}, 'f:port': {} } },
            'f:size': {},
            'f:tags': { '.': {}, 'v:"a"': {} },
          },
        },
      },
    ]);
  });

  it('updates make the writer of a change the manager; a removed field has no manager', () => {
    const first = write(undefined, { spec: { limits: { k: '1', l: '1' } } }, 'a');
    const second = write(first, { spec: { limits: { k: '2', l: '1' } } }, 'b', 2);
    expect(fieldsOf(second, 'a')).toEqual({ 'f:spec': { '.': {}, 'f:limits': { '.': {}, 'f:l': {} } } });
    expect(fieldsOf(second, 'b')).toEqual({ 'f:spec': { 'f:limits': { 'f:k': {} } } });
    const third = write(second, { spec: { limits: { k: '2' } } }, 'b', 3);
    expect(fieldsOf(third, 'a')).toEqual({ 'f:spec': { '.': {}, 'f:limits': {} } });
    expect(entryOf(third, 'b')?.time).toBe('2024-01-01T00:00:02Z');
  });

  it('updates without a change return the stored entries unchanged', () => {
    const live = write(undefined, { spec: { size: 1 } }, 'a');
    const again = trackUpdate({
      live,
      updated: structuredClone(live),
      manager: 'b',
      schema,
      subresource: '',
      now: at(5),
      kind,
    });
    expect(again).toEqual(live.metadata.managedFields);
  });

  it('updates of the status have separate entries and do not change the spec', () => {
    const live = write(undefined, { spec: { size: 1 } }, 'a');
    const next = write(live, { spec: { size: 9 }, status: { phase: 'Up' } }, 'a', 2, 'status');
    expect(next.metadata.managedFields).toHaveLength(2);
    expect(next.metadata.managedFields?.[1]).toMatchObject({
      subresource: 'status',
      fieldsV1: { 'f:status': { '.': {}, 'f:phase': {} } },
    });
  });

  it('updates may clear all managers until the next apply', () => {
    const live = write(undefined, { spec: { size: 1 } }, 'a');
    const reset = objectOf({ spec: { size: 2 } }, { ...live.metadata, managedFields: [{}] });
    expect(trackUpdate({ live, updated: reset, manager: 'b', schema, subresource: '', now: at(2), kind })).toEqual([]);
    const bare = objectOf({ spec: { size: 2 } }, { uid: 'u' });
    expect(
      trackUpdate({
        live: bare,
        updated: objectOf({ spec: { size: 3 } }),
        manager: 'b',
        schema,
        subresource: '',
        now: at(2),
        kind,
      }),
    ).toEqual([]);
  });

  it('updates by more than ten managers merge the oldest ones', () => {
    let object = write(undefined, { spec: { limits: {} } }, 'm0', 1);
    const limits: Record<string, string> = {};
    for (let i = 1; i <= 12; i++) {
      limits[`k${i}`] = '1';
      object = write(object, { spec: { limits: { ...limits } } }, `m${i}`, i + 1);
    }
    expect(object.metadata.managedFields).toHaveLength(10);
    expect(entryOf(object, 'ancient-changes')).toBeDefined();
    expect(entryOf(object, 'm12')).toBeDefined();
    expect(entryOf(object, 'm1')).toBeUndefined();
  });
});

describe('apply', () => {
  it('an apply creates an object and manages exactly the applied fields', () => {
    const object = apply(undefined, { spec: { limits: { k: '1' }, ports: [{ port: 1 }] } }, 'a');
    expect(object.spec).toEqual({ limits: { k: '1' }, ports: [{ port: 1 }] });
    expect(fieldsOf(object, 'a')).toEqual({
      'f:spec': {
        'f:limits': { 'f:k': {} },
        'f:ports': { 'k:{"port":1,"protocol":"TCP"}': { '.': {}, 'f:port': {} } },
      },
    });
  });

  it('an apply removes fields that are no longer applied, and their container if it has no managed fields', () => {
    const first = apply(undefined, { spec: { size: 1, limits: { k: '1', l: '1' } } }, 'a');
    expect(apply(first, { spec: { size: 1, limits: { k: '1' } } }, 'a').spec).toEqual({ size: 1, limits: { k: '1' } });
    expect(apply(first, { spec: { size: 1 } }, 'a').spec).toEqual({ size: 1 });
    const gone = apply(first, {}, 'a');
    expect(gone.spec).toBeUndefined();
    expect(gone.metadata.managedFields).toBeUndefined();
  });

  it('an apply reads an owner without a uid with the default of the published schema', () => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'p' }] as never;
    const object = apply(undefined, { metadata: { ownerReferences } }, 'a');
    expect(fieldsOf(object, 'a')).toEqual({
      'f:metadata': { 'f:ownerReferences': { 'k:{"uid":""}': {} } },
    });
  });

  it('an apply keeps fields that another manager also has', () => {
    const first = apply(undefined, { spec: { limits: { k: '1' }, ports: [{ port: 1, name: 'n' }] } }, 'a');
    const second = apply(first, { spec: { limits: { k: '1' }, ports: [{ port: 1 }] } }, 'b');
    const third = apply(second, { spec: { size: 1 } }, 'a');
    expect(third.spec).toEqual({ size: 1, limits: { k: '1' }, ports: [{ port: 1 }] });
    expect(fieldsOf(third, 'a')).toEqual({ 'f:spec': { 'f:size': {} } });
  });

  it('an apply may change a field of another applier only with force', () => {
    const live = apply(undefined, { spec: { limits: { k: '1' } } }, 'a');
    expect(refusal(() => apply(live, { spec: { limits: { k: '2' } } }, 'b'))).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      code: 409,
      reason: 'Conflict',
      message: 'Apply failed with 1 conflict: conflict with "a": .spec.limits.k',
      details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "a"', field: '.spec.limits.k' }] },
    });
    const forced = apply(live, { spec: { limits: { k: '2' } } }, 'b', { force: true });
    expect(forced.metadata.managedFields?.map(({ manager }) => manager)).toEqual(['b']);
  });

  it('an apply lists conflicts by manager, the members of a level before deeper ones', () => {
    const live = write(
      write(undefined, { spec: { size: 1, ports: [{ port: 1, name: 'a' }] } }, 'u1'),
      { spec: { size: 1, note: 'n', ports: [{ port: 1, name: 'a' }] } },
      'u2',
      2,
    );
    const { message } = refusal(() =>
      apply(live, { spec: { size: 2, note: 'm', ports: [{ port: 1, name: 'b' }] } }, 'b'),
    );
    expect(message).toBe(
      'Apply failed with 3 conflicts: conflicts with "u1" using g.example/v1:\n- .spec.size\n- .spec.ports[port=1,protocol="TCP"].name\nconflicts with "u2" using g.example/v1:\n- .spec.note',
    );
  });

  it('an apply shares fields with equal values; a first apply without changes has no time', () => {
    const live = write(undefined, { spec: { size: 1, note: 'n' } }, 'u');
    const object = apply(live, { spec: { size: 1 } }, 'a');
    expect(entryOf(object, 'a')).not.toHaveProperty('time');
    expect(fieldsOf(object, 'u')).toEqual(fieldsOf(live, 'u'));
  });

  it('an apply assigns fields without a manager to "before-first-apply"', () => {
    const live = objectOf({ spec: { size: 1, note: 'n' } }, { uid: 'u' });
    expect(refusal(() => apply(live, { spec: { size: 2 } }, 'a')).message).toBe(
      'Apply failed with 1 conflict: conflict with "before-first-apply" using g.example/v1: .spec.size',
    );
    const forced = apply(live, { spec: { size: 2 } }, 'a', { force: true });
    expect(fieldsOf(forced, 'before-first-apply')).toEqual({ 'f:spec': { '.': {}, 'f:note': {} } });
  });

  it('an apply merges items by key in order, sets by value, and replaces atomic values as one', () => {
    const live = apply(
      undefined,
      { spec: { ports: [{ port: 1 }, { port: 2 }], tags: ['a', 'b'], atom: { x: 1 } } },
      'a',
    );
    const next = apply(
      live,
      { spec: { ports: [{ port: 3 }, { port: 2, name: 'n' }], tags: ['c', 'b'], args: ['z'] } },
      'b',
    );
    expect(next.spec).toMatchObject({ tags: ['a', 'c', 'b'], args: ['z'] });
    expect((next.spec as { ports: { port: number }[] }).ports.map(({ port }) => port)).toEqual([1, 3, 2]);
    expect(refusal(() => apply(live, { spec: { atom: { y: 2 } } }, 'b')).message).toMatch(/: \.spec\.atom$/);
  });

  it('an apply manages no status through the main resource, and no spec through the status', () => {
    const made = apply(undefined, { spec: { size: 1 }, status: { phase: 'Up' } }, 'a');
    expect(made.status).toBeUndefined();
    expect(entryOf(made, 'a')?.fieldsV1).toEqual({ 'f:spec': { 'f:size': {} } });
    const live = apply(undefined, { spec: { size: 1 } }, 'a');
    const next = apply(live, { spec: { size: 9 }, status: { phase: 'Up' } }, 's', { subresource: 'status' });
    expect(entryOf(next, 's')?.fieldsV1).toEqual({ 'f:status': { 'f:phase': {} } });
  });

  it('an apply sets its time when it contains fields that its endpoint resets later', () => {
    const live = apply(undefined, { spec: { size: 1 } }, 'a');
    const next = apply(live, { spec: { size: 1 }, status: { phase: 'Up' } }, 'b');
    expect(entryOf(next, 'b')).toHaveProperty('time');
    expect(entryOf(apply(live, { spec: { size: 1 } }, 'b'), 'b')).not.toHaveProperty('time');
  });

  it.each([
    [{ bogus: 1 }, '.spec.bogus: field not declared in schema'],
    [{ closed: { bogus: 1 } }, '.spec.closed.bogus: field not declared in schema'],
    [{ open: { inner: { size: 'big' } } }, '.spec.open.inner.size: expected numeric (int or float), got string'],
    [{ size: 'big' }, '.spec.size: expected numeric (int or float), got string'],
    [{ note: 1 }, '.spec.note: expected string, got &value.valueUnstructured{Value:1}'],
    [{ ports: [{ port: 1 }, { port: 1 }] }, '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]'],
    [{ tags: ['a', 'a'] }, '.spec.tags: duplicate entries for key [="a"]'],
    [{ ports: [{ port: 1, odd: 1 }] }, '.spec.ports[port=1,protocol="TCP"].odd: field not declared in schema'],
  ])('%j does not match the schema', (spec, detail) => {
    expect(refusal(() => apply(undefined, { spec }, 'a'))).toMatchObject({
      code: 500,
      message: `failed to create typed patch object (/x; g.example/v1, Kind=Thing): ${detail}`,
    });
  });

  it('an apply to a kind without declared fields accepts only metadata', () => {
    const bare: JsonSchema = { type: 'object' };
    expect(refusal(() => apply(undefined, { spec: { a: 1 } }, 'a', { schema: bare })).message).toMatch(
      /: \.spec: field not declared in schema$/,
    );
    expect(apply(undefined, { metadata: { labels: { a: 'b' } } }, 'a', { schema: bare }).metadata.labels).toEqual({
      a: 'b',
    });
  });

  it('an apply accepts unknown fields below a schema that preserves unknown fields', () => {
    const object = apply(undefined, { spec: { open: { inner: { odd: 1 }, list: [{ odd: 1 }] } } }, 'a');
    const fields = { 'f:open': { 'f:inner': { 'f:odd': {} }, 'f:list': {} } };
    expect(fieldsOf(object, 'a')).toEqual({ 'f:spec': fields });
  });

  it('an apply refuses managed fields in the configuration', () => {
    expect(refusal(() => apply(undefined, { metadata: { managedFields: [{ manager: 'a' }] } }, 'a')).code).toBe(400);
  });
});

describe('kubectl that changes from client-side to server-side apply', () => {
  const LAST = 'kubectl.kubernetes.io/last-applied-configuration';
  const configuration = {
    apiVersion: 'g.example/v1',
    kind: 'Thing',
    metadata: { name: 'x' },
    spec: { size: 1, note: 'n' },
  };
  const live = write(
    undefined,
    { spec: { size: 1, note: 'changed' }, metadata: { annotations: { [LAST]: JSON.stringify(configuration) } } },
    'kubectl-client-side-apply',
  );

  it('kubectl that changes to server-side apply takes its unchanged fields without force', () => {
    const object = apply(live, { spec: { size: 2 } }, 'kubectl');
    expect(object.spec).toMatchObject({ size: 2 });
    expect(JSON.parse(object.metadata.annotations?.[LAST] ?? '')).toMatchObject({ spec: { size: 2 } });
    expect(refusal(() => apply(live, { spec: { note: 'mine' } }, 'kubectl')).code).toBe(409);
  });

  it('another manager than kubectl cannot take these fields without force', () => {
    expect(refusal(() => apply(live, { spec: { size: 2 } }, 'other')).code).toBe(409);
  });
});

describe('unusual data', () => {
  it('keys named like prototypes are normal fields', () => {
    const limits = JSON.parse('{"__proto__": "1", "constructor": "2"}');
    const object = apply(undefined, { spec: { limits } }, 'a');
    expect(Object.keys((object.spec as { limits: object }).limits)).toEqual(['__proto__', 'constructor']);
    expect(fieldsOf(object, 'a')).toEqual({ 'f:spec': { 'f:limits': { 'f:__proto__': {}, 'f:constructor': {} } } });
  });

  it('a kind without schema merges maps by key and lists as one', () => {
    const { schema: _schema, ...bare } = kind;
    const run = (live: ApiObject | undefined, spec: unknown, manager: string): ApiObject =>
      serverSideApply({
        ...(live === undefined ? {} : { live }),
        applied: objectOf({ spec }),
        manager,
        force: false,
        subresource: '',
        now: at(1),
        kind: bare,
      });
    const live = run(undefined, { a: { b: 1 }, list: [1] }, 'a');
    expect(run(live, { a: { c: 2 } }, 'b').spec).toEqual({ a: { b: 1, c: 2 }, list: [1] });
    expect(() => run(live, { list: [2] }, 'b')).toThrow(/\.spec\.list$/);
  });
});
