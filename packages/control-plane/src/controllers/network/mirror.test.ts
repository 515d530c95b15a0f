import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { TestPlane } from '../testing.ts';
import { mirror } from './mirror.ts';

const V1 = '/api/v1/namespaces/default';
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const ports = [{ name: 'http', port: 80, protocol: 'TCP' }];

type Fields = Record<string, unknown>;
const service = (plane: TestPlane, spec: Fields = {}): Promise<ApiObject> =>
  plane.must('POST', `${V1}/services`, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 's' },
    spec: { ports: [{ name: 'http', port: 80 }], ...spec },
  });
const endpoints = (plane: TestPlane, subsets: unknown, metadata: Fields = {}): Promise<ApiObject> =>
  plane.must('POST', `${V1}/endpoints`, {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 's', ...metadata },
    subsets,
  });
const one = [{ addresses: [{ ip: '10.1.0.1' }], ports }];
const start = (): Promise<TestPlane> => TestPlane.start('endpointslicemirroring', 'garbage-collector');

test('endpoints that users write are mirrored, and their slices are deleted with them', async () => {
  await using plane = await start();
  await service(plane);
  const annotations = { a: 'b', 'endpoints.kubernetes.io/last-change-trigger-time': '2024-01-01T00:00:00Z' };
  const addresses = [{ ip: '10.1.0.1', nodeName: 'n', hostname: 'h' }, { ip: '2001:db8::1' }];
  const subsets = [{ addresses, notReadyAddresses: [{ ip: '10.1.0.2' }], ports }];
  const { metadata } = await endpoints(plane, subsets, { annotations, labels: { tier: 'x' } });
  const slices = await plane.list(SLICES);
  expect(slices).toHaveLength(2);
  expect(slices.find(({ addressType }) => addressType === 'IPv4')).toMatchObject({
    metadata: {
      generateName: 's-',
      annotations: { a: 'b' },
      ownerReferences: [{ kind: 'Endpoints', name: 's', uid: metadata.uid, controller: true }],
    },
    ports,
    endpoints: [
      { addresses: ['10.1.0.1'], conditions: { ready: true }, hostname: 'h', nodeName: 'n' },
      { addresses: ['10.1.0.2'], conditions: { ready: false } },
    ],
  });
  for (const slice of slices) {
    expect(slice.metadata.annotations).toEqual({ a: 'b' });
    expect(slice.metadata.labels).toEqual({
      tier: 'x',
      'kubernetes.io/service-name': 's',
      'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
    });
  }
  await plane.patch(`${V1}/endpoints/s`, { subsets: one });
  expect((await plane.list(SLICES)).map(({ addressType }) => addressType)).toEqual(['IPv4']);
  await plane.must('DELETE', `${V1}/endpoints/s`);
  expect(await plane.list(SLICES)).toEqual([]);
  expect(plane.errors).toEqual([]);
});

test.each<[string, Fields, Fields]>([
  ['asks for none', {}, { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }],
  ['elects a leader', {}, { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }],
  ['belongs to a service that selects pods', { selector: { a: 'b' } }, {}],
])('no slice mirrors an Endpoints object that %s', async (_name, spec, metadata) => {
  await using plane = await start();
  await service(plane, spec);
  await endpoints(plane, one, metadata);
  expect(await plane.list(SLICES)).toEqual([]);
});

test('mirrored slices are created and deleted with the service and its selector', async () => {
  await using plane = await start();
  await endpoints(plane, one);
  expect(await plane.list(SLICES)).toEqual([]);
  await service(plane);
  expect(await plane.list(SLICES)).toHaveLength(1);
  await plane.patch(`${V1}/services/s`, { spec: { selector: { a: 'b' } } });
  expect(await plane.list(SLICES)).toEqual([]);
  await plane.patch(`${V1}/services/s`, { spec: { selector: null } });
  expect(await plane.list(SLICES)).toHaveLength(1);
  await plane.must('DELETE', `${V1}/services/s`);
  expect(await plane.list(SLICES)).toEqual([]);
  expect(plane.errors).toEqual([]);
});

test('a mirrored slice that was changed or deleted is restored, and one with other ports is reused', async () => {
  await using plane = await start();
  await service(plane);
  await endpoints(plane, one);
  const name = async () => (await plane.list(SLICES))[0]?.metadata.name;
  const first = await name();
  await plane.patch(`${SLICES}/${first}`, { endpoints: [] });
  expect(await plane.list(SLICES)).toMatchObject([{ endpoints: [{ addresses: ['10.1.0.1'] }] }]);
  await plane.patch(`${V1}/endpoints/s`, { subsets: [{ ...one[0], ports: [{ name: 'http', port: 81 }] }] });
  expect(await plane.list(SLICES)).toMatchObject([{ metadata: { name: first }, ports: [{ port: 81 }] }]);
  await plane.must('DELETE', `${SLICES}/${first}`);
  expect(await name()).not.toBe(first);
  const { resourceVersion } = (await plane.must('GET', `${SLICES}/${await name()}`)).metadata;
  await plane.clock.advance(60_000);
  expect((await plane.list(SLICES))[0]?.metadata.resourceVersion).toBe(resourceVersion);
  expect(plane.errors).toEqual([]);
});

test('TooManyAddressesToMirror, InvalidIPAddress: of a list of ports a thousand addresses are mirrored, ready ones first', () => {
  const many = (count: number, net: number) =>
    Array.from({ length: count }, (_, at) => ({ ip: `10.${net}.${at >> 8}.${at & 255}` }));
  const subsets = [
    { addresses: [...many(600, 1), { ip: 'host.example' }], notReadyAddresses: many(300, 2), ports },
    { addresses: many(300, 3), notReadyAddresses: many(1, 1), ports },
  ];
  const source = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 's' }, subsets };
  const { contents, invalid, skipped } = mirror(source);
  expect([invalid, skipped]).toEqual([1, 201]);
  const ready = contents[0]?.endpoints.filter(({ conditions }) => (conditions as { ready: boolean }).ready);
  expect([contents.length, contents[0]?.endpoints.length, ready?.length]).toEqual([1, 1000, 900]);
});
