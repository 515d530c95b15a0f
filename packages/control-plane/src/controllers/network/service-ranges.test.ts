import { expect, test } from 'vitest';
import { TestPlane } from '../testing.ts';

const NETWORKING = '/apis/networking.k8s.io/v1';
const RANGES = `${NETWORKING}/servicecidrs`;
const ADDRESSES = `${NETWORKING}/ipaddresses`;
const SERVICES = '/api/v1/namespaces/default/services';

const service = (name: string, spec: object = {}) => ({ metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } });
const range = (name: string, ...cidrs: string[]) => ({ metadata: { name }, spec: { cidrs } });

test('every address of a service has its IPAddress, managed by kube-apiserver, as long as the service has it', async () => {
  await using plane = await TestPlane.start('service-addresses');
  await plane.must('POST', SERVICES, service('a', { clusterIP: '10.96.7.7' }));
  await plane.must('POST', SERVICES, service('headless', { clusterIP: 'None' }));
  const [object, ...others] = await plane.list(ADDRESSES);
  expect(others).toEqual([]);
  expect(object?.metadata).toMatchObject({
    name: '10.96.7.7',
    labels: { 'ipaddress.kubernetes.io/ip-family': 'IPv4', 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io' },
  });
  expect(object?.spec).toEqual({ parentRef: { resource: 'services', namespace: 'default', name: 'a' } });
  expect(object?.metadata.managedFields).toMatchObject([{ manager: 'kube-apiserver', operation: 'Update' }]);
  await plane.must('DELETE', `${ADDRESSES}/10.96.7.7`);
  expect(await plane.exists(`${ADDRESSES}/10.96.7.7`)).toBe(true);
  await plane.patch(`${SERVICES}/a`, {
    spec: { type: 'ExternalName', externalName: 'a.b', clusterIP: null, clusterIPs: null },
  });
  expect(await plane.list(ADDRESSES)).toEqual([]);
  await plane.must('POST', SERVICES, service('b', { clusterIP: '10.96.7.7' }));
  await plane.must('DELETE', `${SERVICES}/b`);
  expect(await plane.list(ADDRESSES)).toEqual([]);
  expect(plane.errors).toEqual([]);
});

test('the IPAddress of an address that passes to another service is replaced; a foreign one remains and reserves its address', async () => {
  await using plane = await TestPlane.start('service-addresses');
  await plane.must('POST', SERVICES, service('a', { clusterIP: '10.96.7.7' }));
  await plane.send('DELETE', `${SERVICES}/a`);
  await plane.must('POST', SERVICES, service('b', { clusterIP: '10.96.7.7' }));
  const [object] = await plane.list(ADDRESSES);
  expect(object?.spec).toMatchObject({ parentRef: { name: 'b' } });
  const parentRef = { resource: 'gateways', group: 'example.dev', name: 'g' };
  await plane.must('POST', ADDRESSES, { metadata: { name: '10.96.7.8' }, spec: { parentRef } });
  const { code, body } = await plane.send('POST', SERVICES, service('c', { clusterIP: '10.96.7.8' }));
  expect(code).toBe(422);
  expect(body.message).toContain('failed to allocate IP 10.96.7.8: provided IP is already allocated');
  expect(await plane.exists(`${ADDRESSES}/10.96.7.8`)).toBe(true);
  expect(plane.errors).toEqual([]);
});

test('the range of the cluster exists and is ready from the start', async () => {
  await using plane = await TestPlane.start('service-cidr');
  await plane.clock.advance(0);
  const { metadata, spec, status } = await plane.must('GET', `${RANGES}/kubernetes`);
  expect(spec).toEqual({ cidrs: ['10.96.0.0/16'] });
  expect(metadata.finalizers).toEqual(['networking.k8s.io/service-cidr-finalizer']);
  expect(status).toEqual({
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: '',
        message: 'Kubernetes Service CIDR is ready',
        lastTransitionTime: '2024-01-01T00:00:00Z',
      },
    ],
  });
  const managers = (metadata.managedFields ?? []).map(({ manager, operation }) => `${manager} ${operation}`);
  expect(managers.sort()).toEqual([
    'kube-apiserver Update',
    'kube-controller-manager Update',
    'kubernetes-service-cidr-controller Apply',
    'service-cidr-controller Apply',
  ]);
});

test('a range is deleted after ten seconds, but not while it is the only range of the address of a service', async () => {
  await using plane = await TestPlane.start('service-cidr', 'service-addresses');
  const status = async (name: string) =>
    ((await plane.must('GET', `${RANGES}/${name}`)).status as { conditions: unknown[] }).conditions;
  await plane.must('POST', RANGES, range('own', '10.77.0.0/28'));
  await plane.must('POST', SERVICES, service('a', { clusterIP: '10.77.0.5' }));
  await plane.must('DELETE', `${RANGES}/own`);
  await plane.clock.advance(60_000);
  expect(await status('own')).toMatchObject([{ type: 'Ready', status: 'False', reason: 'Terminating' }]);
  await plane.must('POST', RANGES, range('wide', '10.77.0.0/16'));
  await plane.clock.advance(1000);
  expect(await plane.exists(`${RANGES}/own`)).toBe(false);
  await plane.must('DELETE', `${RANGES}/wide`);
  await plane.clock.advance(60_000);
  expect(await plane.exists(`${RANGES}/wide`)).toBe(true);
  await plane.must('DELETE', `${SERVICES}/a`);
  expect(await plane.exists(`${RANGES}/wide`)).toBe(false);
  await plane.must('POST', RANGES, range('unused', '10.78.0.0/28'));
  await plane.must('DELETE', `${RANGES}/unused`);
  await plane.clock.advance(9000);
  expect(await plane.exists(`${RANGES}/unused`)).toBe(true);
  await plane.clock.advance(1000);
  expect(await plane.exists(`${RANGES}/unused`)).toBe(false);
  expect(plane.errors).toEqual([]);
});
