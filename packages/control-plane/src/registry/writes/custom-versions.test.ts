import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestPlane } from '../../testing.ts';

const MERGE = { 'content-type': 'application/merge-patch+json' };
const APPLY = { 'content-type': 'application/apply-patch+yaml' };
const SCALE = { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' };
const path = (version: string, rest = '') => `/apis/x.dev/${version}/namespaces/default/things${rest}`;

let setup: Awaited<ReturnType<typeof startTestPlane>>;
beforeEach(async () => {
  setup = await startTestPlane();
  const embedded = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
  };
  const status = { type: 'object', properties: { a: { type: 'integer' }, child: embedded } };
  const schemaOf = (spec: object, more: object) => ({
    openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: spec }, status, ...more } },
  });
  const text = { type: 'string' };
  const list = { type: 'array', items: { type: 'object', properties: { name: text } } };
  await setup.client.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.x.dev' },
    spec: {
      group: 'x.dev',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {}, scale: SCALE },
          schema: schemaOf(
            { a: text, list, n: { type: 'integer' }, set: { ...text, default: 'stored' } },
            { more: text },
          ),
        },
        {
          name: 'v2',
          served: true,
          storage: false,
          subresources: { status: {} },
          schema: schemaOf({ a: text, list: text, set: { ...text, default: 'other' } }, {}),
        },
      ],
    },
  });
});
afterEach(() => setup.plane.close());

const send = (method: string, at: string, body?: unknown, headers?: Record<string, string>) =>
  setup.client.send(method, at, body, headers);
const thing = (version: string, fields: object = {}, metadata: object = {}) => ({
  apiVersion: `x.dev/${version}`,
  kind: 'Thing',
  metadata: { name: 'a', ...metadata },
  ...fields,
});

test('another version has only its own fields, and the defaults of the stored version', async () => {
  await send('POST', path('v1'), thing('v1', { spec: { a: 'x', list: [{ name: 'n' }] }, more: 'y' }));
  const other = await send('GET', path('v2', '/a'));
  expect(other.body).toMatchObject({ apiVersion: 'x.dev/v2', spec: { a: 'x', set: 'stored', list: [{}] } });
  expect(other.body).not.toHaveProperty('more');
  const { body } = await send('GET', path('v2'));
  expect(body.items[0]).not.toHaveProperty('more');
});

test('a write through another version removes the fields that this version does not have', async () => {
  await send('POST', path('v1'), thing('v1', { more: 'y' }));
  await send('PATCH', path('v2', '/a/status'), { metadata: { name: 'a' } }, MERGE);
  const stored = await send('GET', path('v1', '/a'));
  expect(stored.body).not.toHaveProperty('more');
  expect(stored.body.metadata.managedFields?.[0]?.fieldsV1).toHaveProperty('f:more');
});

test('an update without a status removes the managers of the status in other versions', async () => {
  await send('POST', path('v1'), thing('v1'));
  await send('PATCH', path('v2', '/a/status?fieldManager=m'), thing('v2', { status: { a: 1 } }), APPLY);
  const before = await send('GET', path('v1', '/a'));
  expect(before.body.metadata.managedFields).toHaveLength(1);
  const { resourceVersion } = before.body.metadata;
  const after = await send('PUT', path('v1', '/a'), thing('v1', {}, { resourceVersion }));
  expect(after.body.status).toEqual({ a: 1 });
  expect(after.body.metadata.managedFields).toBeUndefined();
});

test('an object that does not match the version of a manager loses all managers', async () => {
  await send('POST', path('v1'), thing('v1'));
  await send('PATCH', path('v2', '/a?fieldManager=m'), thing('v2', { spec: { a: 'x' } }), APPLY);
  const matching = await send('PATCH', path('v1', '/a'), { spec: { set: 'y' } }, MERGE);
  expect(matching.body.metadata.managedFields).toHaveLength(2);
  const other = await send('PATCH', path('v1', '/a'), { more: 'y' }, MERGE);
  expect(other.body).toMatchObject({ more: 'y' });
  expect(other.body.metadata.managedFields).toBeUndefined();
});

test('an apply that does not match the version of another manager is refused', async () => {
  await send('POST', path('v1'), thing('v1'));
  await send('PATCH', path('v2', '/a?fieldManager=m'), thing('v2', { spec: { a: 'x' } }), APPLY);
  const applied = thing('v1', { spec: { list: [{ name: 'n' }] } });
  const refused = await send('PATCH', path('v1', '/a?fieldManager=n'), applied, APPLY);
  expect(refused.body).toMatchObject({
    code: 500,
    message: expect.stringContaining('failed to convert new object: .spec.list: expected string, got'),
  });
});

test('a write of the status does not validate embedded resources', async () => {
  await send('POST', path('v1'), thing('v1'));
  const written = await send('PATCH', path('v1', '/a/status'), { status: { child: {} } }, MERGE);
  expect(written.status).toBe(200);
});

test('managedFields with an unreadable path are ignored', async () => {
  await send('POST', path('v1'), thing('v1', { spec: { a: 'x' } }));
  const entry = { manager: 'm', operation: 'Update', apiVersion: 'x.dev/v1', fieldsType: 'FieldsV1' };
  const patched = (fieldsV1: object) =>
    send('PATCH', path('v1', '/a'), { metadata: { managedFields: [{ ...entry, fieldsV1 }] } }, MERGE);
  const ignored = await patched({ 'f:spec': {}, '': 'x' });
  expect(ignored.body.metadata.managedFields?.[0]?.fieldsV1).toHaveProperty(['f:spec', 'f:a']);
  const taken = await patched({ 'f:spec': {} });
  expect(taken.body.metadata.managedFields).toMatchObject([{ manager: 'm', fieldsV1: { 'f:spec': {} } }]);
});

test('an apply with managedFields that are not a list does not match the schema', async () => {
  const applied = await send('PATCH', path('v1', '/a?fieldManager=m'), thing('v1', {}, { managedFields: 'x' }), APPLY);
  expect(applied.body).toMatchObject({
    code: 500,
    message: expect.stringContaining('.metadata.managedFields: expected list'),
  });
});

test('a list of one name in a namespace has no further page', async () => {
  await send('POST', path('v1'), thing('v1'));
  await send('POST', path('v1'), thing('v1', {}, { name: 'b' }));
  const single = await send('GET', path('v1', '?fieldSelector=metadata.name%3Da&limit=1'));
  expect(single.body.metadata.continue).toBe('');
  const all = await send('GET', path('v1', '?limit=1'));
  expect(all.body.metadata.continue).not.toBe('');
});

test('a patch of a scale must set the replicas if the object has none', async () => {
  await send('POST', path('v1'), thing('v1'));
  const refused = await send('PATCH', path('v1', '/a/scale'), { spec: {} }, MERGE);
  expect([refused.status, refused.body['message']]).toEqual([400, 'the spec replicas field ".spec.n" cannot be empty']);
  const set = await send('PATCH', path('v1', '/a/scale'), { spec: { replicas: 2 } }, MERGE);
  expect(set.body).toMatchObject({ spec: { replicas: 2 } });
  const object = await send('GET', path('v1', '/a'));
  expect(object.body).toMatchObject({ spec: { n: 2, set: 'stored' } });
});

test('a new object has the default status of its schema, and the next write stores this status', async () => {
  const status = { type: 'object', properties: { phase: { type: 'string' } }, default: { phase: 'New' } };
  await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'jobs.x.dev' },
    spec: {
      group: 'x.dev',
      scope: 'Namespaced',
      names: { plural: 'jobs', kind: 'Job' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { status } } },
        },
      ],
    },
  });
  const at = '/apis/x.dev/v1/namespaces/default/jobs';
  const job = { apiVersion: 'x.dev/v1', kind: 'Job', metadata: { name: 'a' }, status: { phase: 'Old' } };
  const expected = { status: { phase: 'New' } };
  expect((await send('POST', `${at}?dryRun=All`, job)).body).toMatchObject(expected);
  const created = await send('POST', at, job);
  expect(created.body).toMatchObject(expected);
  expect((await send('GET', `${at}/a`)).body).toMatchObject(expected);
  expect((await send('GET', at)).body).toMatchObject({ items: [expected] });
  const versions: unknown[] = [];
  for (let write = 0; write < 2; write += 1)
    versions.push((await send('PATCH', `${at}/a`, {}, MERGE)).body.metadata?.resourceVersion);
  expect(versions[0]).not.toBe(created.body.metadata?.resourceVersion);
  expect(versions[1]).toBe(versions[0]);
});

test('a write creates a new version only if it changes the object in the stored version', async () => {
  const text = { type: 'string' };
  const version = (name: string, storage: boolean, fields: object) => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: fields } } } },
  });
  await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'others.x.dev' },
    spec: {
      group: 'x.dev',
      scope: 'Namespaced',
      names: { plural: 'others', kind: 'Other' },
      versions: [
        version('v1', true, { a: text, old: { ...text, default: 'o' } }),
        version('v2', false, { a: text, recent: text }),
      ],
    },
  });
  const others = (name: string) => `/apis/x.dev/${name}/namespaces/default/others`;
  const body = { apiVersion: 'x.dev/v1', kind: 'Other', metadata: { name: 'a' }, spec: {} };
  const { body: made } = await send('PATCH', `${others('v1')}/a?fieldManager=m`, body, APPLY);
  const patch = async (spec: object): Promise<string | undefined> =>
    (await send('PATCH', `${others('v2')}/a`, { spec }, MERGE)).body.metadata.resourceVersion;
  const first = await patch({});
  expect(first).not.toBe(made.metadata.resourceVersion);
  expect(await patch({})).toBe(first);
  expect(await patch({ a: 'x' })).not.toBe(first);
  expect((await send('GET', `${others('v1')}/a`)).body).toMatchObject({ spec: { a: 'x', old: 'o' } });
});
