import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestPlane } from '../../testing.ts';

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
let setup: Awaited<ReturnType<typeof startTestPlane>>;

beforeEach(async () => {
  setup = await startTestPlane();
  const labels = { a: 'b' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'example.dev/c:1' }] } };
  await setup.client.send('POST', DEPLOYMENTS, {
    metadata: { name: 'x' },
    spec: { selector: { matchLabels: labels }, template },
  });
  await setup.client.send('POST', CONFIG_MAPS, { metadata: { name: 'x' }, data: { a: '1' } });
});

afterEach(() => setup.plane.close());

const patch = (path: string, type: string, body: unknown) =>
  setup.client.send('PATCH', `${path}/x`, body, { 'content-type': `application/${type}+json` });

const container = (fields: object) => ({ spec: { template: { spec: { containers: [{ name: 'c', ...fields }] } } } });

test.each<[patch: object, shown: string, why: string]>([
  [{ spec: { replicas: 'x' } }, 'map[spec:map[replicas:x]]', 'unrecognized type: int32'],
  [{ spec: { replicas: 1.5 } }, 'map[spec:map[replicas:1.5]]', 'cannot convert float64 to int32'],
  [{ spec: { paused: 1 } }, 'map[spec:map[paused:1]]', 'unrecognized type: bool'],
  [{ spec: { selector: 'x' } }, 'map[spec:map[selector:x]]', 'cannot restore struct from: string'],
  [{ metadata: { labels: { a: 5 } } }, 'map[metadata:map[labels:map[a:5]]]', 'cannot convert int64 to string'],
  [{ metadata: { finalizers: 'x' } }, 'map[metadata:map[finalizers:x]]', 'cannot restore slice from string'],
  [
    container({ image: true }),
    'map[spec:map[template:map[spec:map[containers:[map[image:true name:c]]]]]]',
    'unrecognized type: string',
  ],
])(
  'a strategic merge patch of a wrong type is refused with the text of the converter: %j',
  async (body, shown, why) => {
    const { status, body: answer } = await patch(DEPLOYMENTS, 'strategic-merge-patch', body);
    expect([status, answer.message]).toEqual([422, ` "" is invalid: patch: Invalid value: "${shown}": ${why}`]);
  },
);

test('a merge patch of a wrong type is refused with the whole object and the text of the decoder', async () => {
  const { status, body } = await patch(DEPLOYMENTS, 'merge-patch', { spec: { replicas: 'x' } });
  expect(status).toBe(422);
  expect(body.message).toMatch(
    /^ "" is invalid: patch: Invalid value: "\{.*"replicas\\":\\"x\\".*\}": json: cannot unmarshal/,
  );
});

test('nulls in a map of strings become empty strings', async () => {
  const { body } = await patch(CONFIG_MAPS, 'json-patch', [{ op: 'add', path: '/data/b', value: null }]);
  expect(body).toMatchObject({ data: { a: '1', b: '' } });
});

test('a patch cannot change the kind of an object; errors of the other kind come first', async () => {
  const wrong = await patch(CONFIG_MAPS, 'merge-patch', { kind: 'Secret' });
  expect([wrong.status, wrong.body.message]).toEqual([
    422,
    expect.stringContaining('illegal base64 data at input byte 0'),
  ]);
  const odd = await patch(CONFIG_MAPS, 'merge-patch', { apiVersion: 'v2' });
  expect([odd.status, odd.body.message]).toEqual([
    422,
    expect.stringContaining('no kind "ConfigMap" is registered for version "v2"'),
  ]);
  // A strategic merge patch cannot change the kind of the object.
  expect((await patch(CONFIG_MAPS, 'strategic-merge-patch', { kind: 'Secret' })).body.kind).toBe('ConfigMap');
});

test.each(['merge-patch', 'strategic-merge-patch'])('a %s that removes the name is refused', async (type) => {
  const { status, body } = await patch(CONFIG_MAPS, type, { metadata: { name: null } });
  expect([status, body.message]).toEqual([
    400,
    'the name of the object (x based on URL) was undeterminable: name must be provided',
  ]);
});

const lease = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const ALL_FORMS = ['merge-patch', 'strategic-merge-patch', 'json-patch'] as const;
const metadata = (form: (typeof ALL_FORMS)[number], field: string, value: unknown): unknown =>
  form === 'json-patch' ? [{ op: 'add', path: `/metadata/${field}`, value }] : { metadata: { [field]: value } };

test.each(ALL_FORMS)('an error in the metadata of an update is reported once per validation step: %s', async (form) => {
  const causes = async (path: string, field: string, value: unknown): Promise<number> => {
    const { details } = (await patch(path, form, metadata(form, field, value))).body;
    return (details as { causes?: unknown[] } | undefined)?.causes?.length ?? 0;
  };
  await setup.client.send('POST', lease, { metadata: { name: 'x' }, spec: {} });
  const BAD = { 'a b': 'x' };
  // Updates of config maps are validated as changes and as new objects.
  expect(await causes(CONFIG_MAPS, 'labels', BAD)).toBe(4);
  expect(await causes(DEPLOYMENTS, 'labels', BAD)).toBe(3);
  expect(await causes(lease, 'labels', BAD)).toBe(3);
  expect(await causes(CONFIG_MAPS, 'uid', 'nope')).toBe(2);
  expect(await causes(CONFIG_MAPS, 'finalizers', ['nodomain'])).toBe(2);
  expect(await causes(DEPLOYMENTS, 'finalizers', ['nodomain'])).toBe(1);
  expect(await causes(DEPLOYMENTS, 'finalizers', ['a b/c'])).toBe(1);
});

test.each(ALL_FORMS)('an update can neither start nor cancel a deletion: %s', async (form) => {
  const begun = await patch(CONFIG_MAPS, form, metadata(form, 'deletionTimestamp', '2020-01-01T00:00:00Z'));
  expect([begun.status, begun.body.message]).toEqual([
    422,
    'ConfigMap "x" is invalid: metadata.deletionTimestamp: Invalid value: "2020-01-01T00:00:00Z": field is immutable',
  ]);
  await patch(CONFIG_MAPS, form, metadata(form, 'finalizers', ['a.b/c']));
  await setup.client.send('DELETE', `${CONFIG_MAPS}/x`);
  const kept = await patch(CONFIG_MAPS, 'merge-patch', { metadata: { deletionTimestamp: null, labels: { a: 'b' } } });
  expect(kept.status).toBe(200);
  expect(kept.body.metadata.deletionTimestamp).toBeDefined();
});

test.each(ALL_FORMS)('an empty list of managed fields clears all of them: %s', async (form) => {
  const { status, body } = await patch(CONFIG_MAPS, form, metadata(form, 'managedFields', []));
  expect([status, body.metadata.managedFields]).toEqual([200, undefined]);
});

test('a refused patch prints changed maps in the order of their keys, and the rest unchanged', async () => {
  const { body } = await patch(CONFIG_MAPS, 'merge-patch', { metadata: { finalizers: 5 } });
  const shown = JSON.parse(/Invalid value: ("(?:[^"\\]|\\.)*")/.exec(body.message)?.[1] ?? '""');
  const { managedFields, ...rest } = JSON.parse(shown).metadata;
  expect(Object.keys(JSON.parse(shown))).toEqual(['apiVersion', 'data', 'kind', 'metadata']);
  expect(Object.keys(rest)).toEqual(Object.keys(rest).sort());
  expect(Object.keys(managedFields[0]).slice(0, 3)).toEqual(['manager', 'operation', 'apiVersion']);
});

const apply = (body: object, query = 'fieldManager=m&force=true') =>
  setup.client.send('PATCH', `${CONFIG_MAPS}/x?${query}`, body, { 'content-type': 'application/apply-patch+yaml' });
const applied = (more: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', ...more } });

test.each<[body: object, code: number, message: string]>([
  [
    applied({ labels: 'str' }),
    500,
    'failed to create typed patch object (/x; /v1, Kind=ConfigMap): .metadata.labels: expected map, got &{str}',
  ],
  [
    applied({ finalizers: 5 }),
    500,
    'failed to create typed patch object (/x; /v1, Kind=ConfigMap): .metadata.finalizers: expected list, got &{5}',
  ],
  [{ ...applied({}), apiVersion: undefined }, 400, 'invalid object type: /, Kind=ConfigMap'],
  [{ ...applied({}), kind: 'Foo' }, 400, 'invalid object type: /v1, Kind=Foo'],
  [applied({ uid: 'nope' }), 422, 'ConfigMap "x" is invalid: metadata.uid: Invalid value: "nope": field is immutable'],
])('an apply is refused with its own text: %j', async (body, code, message) => {
  await apply(applied({ labels: { a: 'b' } }));
  const answer = await apply(body);
  expect([answer.status, answer.body.message]).toEqual([code, message]);
});

test('an apply with fewer fields keeps fields of the server, and manages null values', async () => {
  const manifest = (more: object) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'x', ...more },
    spec: {},
  });
  const send = (more: object) =>
    setup.client.send('PATCH', `${lease}/x?fieldManager=m`, manifest(more), {
      'content-type': 'application/apply-patch+yaml',
    });
  expect((await send({ finalizers: ['a.b/c'] })).status).toBe(201);
  const { status, body } = await send({ finalizers: null });
  expect([status, body.metadata.finalizers]).toEqual([200, undefined]);
  expect(body.metadata.managedFields?.[0]?.fieldsV1).toEqual({ 'f:metadata': { 'f:finalizers': {} }, 'f:spec': {} });
  expect((await send({ resourceVersion: '1' })).status).toBe(409);
});

test('a write of a status does not change the labels of a deployment and the deletion of a pod', async () => {
  const { body } = await setup.client.send(
    'PATCH',
    `${DEPLOYMENTS}/x/status`,
    { metadata: { labels: { l: '1' }, annotations: { a: '1' } } },
    { 'content-type': 'application/merge-patch+json' },
  );
  expect([body.metadata.labels, body.metadata.annotations]).toEqual([undefined, { a: '1' }]);
});

test('a write of the status can create a service, which gets no address', async () => {
  const service = { metadata: { name: 'new' }, spec: { ports: [{ port: 80 }] } };
  const path = '/api/v1/namespaces/default/services/new/status';
  const { status, body } = await setup.client.send('PUT', path, service);
  expect([status, (body['spec'] as { clusterIP: string }).clusterIP]).toEqual([201, undefined]);
});
