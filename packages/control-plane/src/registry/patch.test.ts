import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestPlane } from '../testing.ts';

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
])('a strategic merge patch of a wrong type is refused in the words of the converter: %j', async (body, shown, why) => {
  const { status, body: answer } = await patch(DEPLOYMENTS, 'strategic-merge-patch', body);
  expect([status, answer.message]).toEqual([422, ` "" is invalid: patch: Invalid value: "${shown}": ${why}`]);
});

test('a merge patch of a wrong type is refused with the whole object and the words of the decoder', async () => {
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

test('a patch may not make an object another kind, whose own complaints come first', async () => {
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
  // A strategic merge patch is read as what the URL says.
  expect((await patch(CONFIG_MAPS, 'strategic-merge-patch', { kind: 'Secret' })).body.kind).toBe('ConfigMap');
});

test.each(['merge-patch', 'strategic-merge-patch'])('a %s that takes the name away is refused', async (type) => {
  const { status, body } = await patch(CONFIG_MAPS, type, { metadata: { name: null } });
  expect([status, body.message]).toEqual([
    400,
    'the name of the object (x based on URL) was undeterminable: name must be provided',
  ]);
});
