import { expect, test } from 'vitest';
import { controllerNames } from '../controllers/index.ts';
import { TestPlane } from '../controllers/testing.ts';
import { startControlPlane } from '../plane.ts';
import { advertisedBy } from './kubernetes-service.ts';

const V1 = '/api/v1/namespaces/default';
const SERVICE = `${V1}/services/kubernetes`;
const ENDPOINTS = `${V1}/endpoints/kubernetes`;
const SLICE = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes';
const ADDRESS = '/apis/networking.k8s.io/v1/ipaddresses/10.96.0.1';
const INTERVAL_MS = 10_000;

const versionsOf = async (plane: TestPlane): Promise<unknown[]> =>
  Promise.all(
    [SERVICE, ENDPOINTS, SLICE].map(async (path) => (await plane.must('GET', path)).metadata.resourceVersion),
  );

test('a new cluster has the Service of its API server, with Endpoints, a slice and a reserved address', async () => {
  await using plane = await TestPlane.start();
  expect(await plane.must('GET', SERVICE)).toMatchObject({
    metadata: { labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      type: 'ClusterIP',
      clusterIP: '10.96.0.1',
      clusterIPs: ['10.96.0.1'],
      ipFamilyPolicy: 'SingleStack',
      sessionAffinity: 'None',
      ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort: 6443 }],
    },
  });
  expect(await plane.must('GET', ENDPOINTS)).toMatchObject({
    metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'https', port: 6443, protocol: 'TCP' }] }],
  });
  expect(await plane.must('GET', SLICE)).toMatchObject({
    metadata: { labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true } }],
    ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
  });
  expect((await plane.must('GET', ADDRESS)).spec).toEqual({
    parentRef: { resource: 'services', namespace: 'default', name: 'kubernetes' },
  });
});

test('the address of the kubernetes Service is not available for another Service', async () => {
  await using plane = await TestPlane.start();
  const spec = { clusterIP: '10.96.0.1', ports: [{ port: 80 }] };
  const { code, body } = await plane.send('POST', `${V1}/services`, { metadata: { name: 'thief' }, spec });
  expect([code, (body as { message?: string }).message]).toEqual([
    422,
    expect.stringContaining('failed to allocate IP 10.96.0.1: provided IP is already allocated'),
  ]);
});

test('a deleted Service, its Endpoints and its slice are created again within ten seconds', async () => {
  await using plane = await TestPlane.start(...controllerNames);
  await plane.clock.advance(25_000);
  const { uid } = (await plane.must('GET', SERVICE)).metadata;
  for (const path of [SERVICE, SLICE]) await plane.must('DELETE', path);
  await plane.clock.advance(4_000);
  // The endpoints controller deletes the Endpoints object when the Service is deleted.
  for (const path of [SERVICE, ENDPOINTS, SLICE, ADDRESS]) expect(await plane.exists(path), path).toBe(false);
  await plane.clock.advance(1_000);
  for (const path of [SERVICE, ENDPOINTS, SLICE, ADDRESS]) expect(await plane.exists(path), path).toBe(true);
  expect((await plane.must('GET', SERVICE)).metadata.uid).not.toBe(uid);
  expect(plane.errors).toEqual([]);
});

test('foreign addresses, a removed label and a changed slice are corrected; changes of the Service and of ports stay', async () => {
  await using plane = await TestPlane.start(...controllerNames);
  const port = { name: 'https', port: 1234, protocol: 'TCP' };
  await plane.patch(ENDPOINTS, {
    metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': null, mine: 'x' } },
    subsets: [{ addresses: [{ ip: '192.0.2.9' }], ports: [port] }],
  });
  await plane.patch(SERVICE, { spec: { ports: [{ name: 'https', port: 8443 }] } });
  await plane.clock.advance(INTERVAL_MS);
  const endpoints = await plane.must('GET', ENDPOINTS);
  expect(endpoints.metadata.labels).toEqual({ 'endpointslice.kubernetes.io/skip-mirror': 'true', mine: 'x' });
  expect(endpoints).toMatchObject({ subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [port] }] });
  expect(await plane.must('GET', SLICE)).toMatchObject({ endpoints: [{ addresses: ['192.0.2.1'] }], ports: [port] });
  expect(await plane.must('GET', SERVICE)).toMatchObject({ spec: { ports: [{ port: 8443 }] } });

  await plane.patch(SLICE, { endpoints: [{ addresses: ['192.0.2.7'] }] });
  await plane.clock.advance(INTERVAL_MS);
  expect(await plane.must('GET', SLICE)).toMatchObject({ endpoints: [{ addresses: ['192.0.2.1'] }] });
  expect(plane.errors).toEqual([]);
});

test('an unchanged Service costs no write', async () => {
  await using plane = await TestPlane.start();
  const before = await versionsOf(plane);
  await plane.clock.advance(3_600_000);
  expect(await versionsOf(plane)).toEqual(before);
});

test('a plane that starts again with another address corrects the Endpoints and the slice', async () => {
  const first = await startControlPlane({ advertiseAddress: '198.51.100.1', controllers: false });
  const store = { snapshot: first.snapshot() };
  await first.close();
  const second = await startControlPlane({ advertiseAddress: '198.51.100.2', controllers: false, store });
  const body = async (path: string): Promise<unknown> => (await second.fetch(new Request(`http://p${path}`))).json();
  expect(await body(ENDPOINTS)).toMatchObject({ subsets: [{ addresses: [{ ip: '198.51.100.2' }] }] });
  expect(await body(SLICE)).toMatchObject({ endpoints: [{ addresses: ['198.51.100.2'] }] });
  await second.close();
});

test('an address that the API refuses is reported, and the Service exists', async () => {
  const errors: string[] = [];
  const plane = await startControlPlane({
    advertiseAddress: '127.0.0.1',
    controllers: false,
    onControllerError: (name, key, error) => errors.push(`${name} ${key}: ${error}`),
  });
  expect((await plane.fetch(new Request(`http://p${SERVICE}`))).status).toBe(200);
  expect(errors.join()).toMatch(/^kubernetes-service default\/kubernetes: .*may not be in the loopback range/);
  await plane.close();
});

test('a server with a socket advertises an address outside of the loopback range, and its port', () => {
  const { address, port } = advertisedBy(undefined, 4711);
  expect(address).not.toMatch(/^127\./);
  expect(port).toBe(4711);
});
