import { afterEach, beforeEach, expect, test } from 'vitest';
import { caller } from '../../auth/testing.ts';
import { type ControlPlane, startControlPlane } from '../../plane.ts';

const CORE = '/api/v1/namespaces/default';

let plane: ControlPlane;
let call: ReturnType<typeof caller>;

beforeEach(async () => {
  plane = await startControlPlane({ controllers: false });
  call = caller(plane);
  await call('POST', `${CORE}/serviceaccounts`, { body: { metadata: { name: 'default' } } });
});
afterEach(() => plane.close());

const limit = (...limits: object[]) =>
  call('POST', `${CORE}/limitranges`, { body: { metadata: { name: 'l' }, spec: { limits } } });

const run = (spec: object) =>
  call('POST', `${CORE}/pods`, {
    body: { metadata: { name: 'p' }, spec: { automountServiceAccountToken: false, ...spec } },
  });

const container = (name: string, limits: object, requests: object) => ({
  name,
  image: 'i',
  resources: { limits, requests },
});

test('missing values of a range are derived from the others', async () => {
  const { body } = await limit({
    type: 'Container',
    max: { cpu: '2', memory: '1Gi' },
    min: { cpu: '100m', 'example.dev/x': '1' },
  });
  expect(body.spec?.limits?.[0]).toMatchObject({
    default: { cpu: '2', memory: '1Gi' },
    defaultRequest: { cpu: '2', memory: '1Gi', 'example.dev/x': '1' },
  });
});

test('containers get default limits', async () => {
  await limit({ type: 'Container', default: { cpu: '500m', memory: '1Gi' }, defaultRequest: { cpu: '100m' } });
  const { body } = await run({
    initContainers: [container('i', { cpu: '1' }, {})],
    containers: [{ name: 'c', image: 'i' }],
  });
  expect(body.spec?.containers?.[0]?.resources).toEqual({
    limits: { cpu: '500m', memory: '1Gi' },
    requests: { cpu: '100m', memory: '1Gi' },
  });
  expect(body.metadata?.annotations).toEqual({
    'kubernetes.io/limit-ranger':
      'LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c; memory request for init container i; memory limit for init container i',
  });
});

test.each([
  [
    { type: 'Container', min: { cpu: '100m' } },
    [container('c', { cpu: '1' }, { cpu: '50m' })],
    'minimum cpu usage per Container is 100m, but request is 50m',
  ],
  [
    { type: 'Container', max: { cpu: '1' } },
    [container('c', { cpu: '2' }, {})],
    'maximum cpu usage per Container is 1, but limit is 2',
  ],
  [
    { type: 'Container', maxLimitRequestRatio: { cpu: '4' } },
    [container('c', { cpu: '2' }, { cpu: '100m' })],
    'cpu max limit to request ratio per Container is 4, but provided ratio is 20.000000',
  ],
  [
    { type: 'Pod', max: { cpu: '3' } },
    [container('c', { cpu: '2' }, {}), container('d', { cpu: '2' }, {})],
    'maximum cpu usage per Pod is 3, but limit is 4',
  ],
  [
    { type: 'Pod', min: { memory: '1' } },
    [{ name: 'c', image: 'i' }],
    'minimum memory usage per Pod is 1.  No request is specified',
  ],
  [
    { type: 'Pod', max: { memory: '1' } },
    [{ name: 'c', image: 'i' }],
    'maximum memory usage per Pod is 1.  No limit is specified',
  ],
])('%j refuses', async (item, containers, why) => {
  await limit(item);
  const { status, body } = await run({ containers });
  expect([status, body.message]).toEqual([403, `pods "p" is forbidden: ${why}`]);
});

test('several violations are reported together', async () => {
  await limit({ type: 'Container', max: { cpu: '1', memory: '1Gi' } });
  const { body } = await run({ containers: [container('c', { cpu: '2', memory: '2Gi' }, {})] });
  expect(body.message).toBe(
    'pods "p" is forbidden: [maximum cpu usage per Container is 1, but limit is 2, maximum memory usage per Container is 1Gi, but limit is 2Gi]',
  );
});

test.each([
  ['2Gi', 'maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi'],
  ['1Ki', 'minimum storage usage per PersistentVolumeClaim is 1Mi, but request is 1Ki'],
])('a claim of %s is refused', async (storage, why) => {
  await limit({ type: 'PersistentVolumeClaim', max: { storage: '1Gi' }, min: { storage: '1Mi' } });
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } };
  const { body } = await call('POST', `${CORE}/persistentvolumeclaims`, { body: { metadata: { name: 'c' }, spec } });
  expect(body.message).toBe(`persistentvolumeclaims "c" is forbidden: ${why}`);
});
