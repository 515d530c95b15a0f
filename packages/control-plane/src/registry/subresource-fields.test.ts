import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestPlane } from '../testing.ts';

const NS = '/api/v1/namespaces/default';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const SCALE = `${DEPLOYMENTS}/d/scale`;
const type = (form: string) => ({ 'content-type': `application/${form}` });
const MERGE = type('merge-patch+json');
const APPLY = type('apply-patch+yaml');

let setup: Awaited<ReturnType<typeof startTestPlane>>;
beforeEach(async () => {
  setup = await startTestPlane({ controllers: false });
  const labels = { a: 'b' };
  const spec = { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] };
  const template = { metadata: { labels }, spec };
  await send('POST', DEPLOYMENTS, { metadata: { name: 'd' }, spec: { selector: { matchLabels: labels }, template } });
  await send('POST', `${NS}/serviceaccounts`, { metadata: { name: 'default' } });
  await send('POST', `${NS}/pods`, { metadata: { name: 'p' }, spec });
});
afterEach(() => setup.plane.close());

const send = (method: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
  setup.client.send(method, path, body, headers);

const STRICT = 'strict decoding error: unknown field "zzz"';
const EVICTION = `${NS}/pods/p/eviction`;

test.each<[what: string, ...request: Parameters<typeof send>, status: number, message: string]>([
  ['an update of a scale', 'PUT', SCALE, { metadata: { name: 'd' }, zzz: 1 }, {}, 400, STRICT],
  ['a patch of a scale', 'PATCH', SCALE, { zzz: 1 }, MERGE, 422, STRICT],
  ['an eviction', 'POST', EVICTION, { metadata: { name: 'p' }, zzz: 1 }, {}, 400, STRICT],
  [
    'the options of an eviction',
    'POST',
    EVICTION,
    { metadata: { name: 'p' }, deleteOptions: { zzz: 1 } },
    {},
    400,
    'strict decoding error: unknown field "deleteOptions.zzz"',
  ],
])(
  'unknown fields of %s are refused, or cause warnings',
  async (_what, method, path, body, headers, status, message) => {
    const strict = await send(method, `${path}?fieldValidation=Strict`, body, headers);
    expect([strict.status, strict.body.message]).toEqual([status, expect.stringContaining(message)]);
    const reported = await send(method, `${path}?dryRun=All`, body, headers);
    expect(reported.status).toBeLessThan(300);
    expect(reported.headers.get('warning')).toMatch(/unknown field \\"(deleteOptions\.)?zzz\\"/);
    const quiet = await send(method, `${path}?dryRun=All&fieldValidation=Ignore`, body, headers);
    expect(quiet.headers.get('warning')).toBeNull();
  },
);

test('other kinds than Scale are refused in each form of a write', async () => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'd' } };
  const put = await send('PUT', SCALE, pod);
  expect([put.status, put.body.message]).toEqual([
    400,
    'Pod in version "v1" cannot be handled as a Scale: converting (v1.Pod) to (autoscaling.Scale): unknown conversion',
  ]);
  const merged = await send('PATCH', SCALE, { kind: 'Foo' }, MERGE);
  expect([merged.status, merged.body.message]).toEqual([
    422,
    expect.stringMatching(/"kind\\":\\"Foo.*no kind "Foo" is registered for version "autoscaling\/v1"/),
  ]);
  const spec = { replicas: 2 };
  for (const [given, message] of [
    [{ spec }, 'invalid object type: /, Kind='],
    [{ apiVersion: 'apps/v1', kind: 'Scale', spec }, 'invalid object type: apps/v1, Kind=Scale'],
  ] as const) {
    const applied = await send('PATCH', `${SCALE}?fieldManager=m`, given, APPLY);
    expect([applied.status, applied.body.message]).toEqual([400, message]);
  }
  const whole = { apiVersion: 'autoscaling/v1', kind: 'Scale', spec };
  const odd = await send('PATCH', `${SCALE}?fieldManager=m`, { ...whole, zzz: 1 }, APPLY);
  expect([odd.status, odd.body.message]).toEqual([
    500,
    'failed to create typed patch object (/; autoscaling/v1, Kind=Scale): .zzz: field not declared in schema',
  ]);
  expect((await send('PATCH', `${SCALE}?fieldManager=m&force=true`, whole, APPLY)).body.spec).toEqual(spec);
});

test.each<[field: object, name: string]>([
  [{ restartPolicy: 'Always' }, 'restartPolicy'],
  [{ lifecycle: {} }, 'lifecycle'],
  [{ ports: [] }, 'ports'],
  [{ resources: { limits: {} } }, 'resources'],
])('an ephemeral container may not have %j', async (field, name) => {
  const spec = { ephemeralContainers: [{ name: 'e', image: 'i', ...field }] };
  const path = `${NS}/pods/p/ephemeralcontainers`;
  const { status, body } = await send('PATCH', path, { spec }, type('strategic-merge-patch+json'));
  const why = 'Forbidden: cannot be set for an Ephemeral Container';
  expect([status, body.message]).toEqual([422, expect.stringContaining(`ephemeralContainers[0].${name}: ${why}`)]);
});

test('an ephemeral container without resources may name them', async () => {
  const spec = { ephemeralContainers: [{ name: 'e', image: 'i', resources: {} }] };
  const path = `${NS}/pods/p/ephemeralcontainers`;
  expect((await send('PATCH', path, { spec }, type('strategic-merge-patch+json'))).status).toBe(200);
});
