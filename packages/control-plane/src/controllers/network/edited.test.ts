import { expect, test } from 'vitest';
import { TestPlane } from '../testing.ts';

const V1 = '/api/v1/namespaces/default';
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const ENDPOINTS = `${V1}/endpoints`;
const SERVICE = `${V1}/services/s`;

async function start(spec: object = {}): Promise<TestPlane> {
  const plane = await TestPlane.start('endpoint', 'endpointslice');
  const labels = { 'topology.kubernetes.io/zone': 'z1' };
  await plane.must('POST', '/api/v1/nodes', { metadata: { name: 'n', labels } });
  await plane.must('POST', `${V1}/services`, {
    metadata: { name: 's', labels: { tier: 'front' } },
    spec: { selector: { app: 'x' }, ports: [{ port: 80 }], ...spec },
  });
  await plane.must('POST', `${V1}/pods`, {
    metadata: { name: 'p', labels: { app: 'x' } },
    spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
  });
  const conditions = [{ type: 'Ready', status: 'True' }];
  const status = { phase: 'Running', podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }], conditions };
  await plane.patch(`${V1}/pods/p/status`, { status });
  return plane;
}

test('labels that the service does not have are removed from slices and endpoints, also foreign ones on slices', async () => {
  await using plane = await start();
  const [{ metadata: { name = '' } = {} } = {}] = await plane.list(SLICES);
  await plane.patch(`${SLICES}/${name}`, { metadata: { labels: { mine: 'x' } } });
  expect((await plane.must('GET', `${SLICES}/${name}`)).metadata.labels).not.toHaveProperty('mine');
  await plane.patch(SERVICE, { metadata: { labels: { tier: null, side: 'b' } } });
  for (const path of [`${SLICES}/${name}`, `${ENDPOINTS}/s`]) {
    const { labels } = (await plane.must('GET', path)).metadata;
    expect(labels).toMatchObject({ side: 'b' });
    expect(labels).not.toHaveProperty('tier');
  }
  expect(plane.errors).toEqual([]);
});

test('slices of a service that lost its selector are not changed', async () => {
  await using plane = await start();
  const before = await plane.list(SLICES);
  await plane.patch(SERVICE, { spec: { selector: null } });
  expect(await plane.list(SLICES)).toEqual(before);
  expect(before).toHaveLength(1);
});

test('manual changes of endpoints remain until their service changes; deleted ones are created again', async () => {
  await using plane = await start();
  const subsets = async () => (await plane.must('GET', `${ENDPOINTS}/s`)).subsets;
  await plane.patch(`${ENDPOINTS}/s`, { subsets: null });
  expect(await subsets()).toBeUndefined();
  await plane.patch(SERVICE, { metadata: { labels: { more: 'x' } } });
  expect(await subsets()).toMatchObject([{ addresses: [{ ip: '10.0.0.1' }] }]);
  await plane.must('DELETE', `${ENDPOINTS}/s`);
  expect(await subsets()).toMatchObject([{ addresses: [{ ip: '10.0.0.1' }] }]);
});

test('endpoints without a service that a user created are not deleted', async () => {
  await using plane = await start();
  await plane.must('POST', ENDPOINTS, { metadata: { name: 'mine' }, subsets: [{ addresses: [{ ip: '10.0.0.9' }] }] });
  await plane.patch(`${ENDPOINTS}/mine`, { metadata: { labels: { a: 'b' } } });
  expect(await plane.exists(`${ENDPOINTS}/mine`)).toBe(true);
});

test('trafficDistribution: endpoints have hints for their zone', async () => {
  await using plane = await start({ trafficDistribution: 'PreferSameNode' });
  const hints = async () => {
    const [slice] = await plane.list(SLICES);
    return (slice?.endpoints as { hints?: object }[] | undefined)?.[0]?.hints;
  };
  expect(await hints()).toEqual({ forZones: [{ name: 'z1' }], forNodes: [{ name: 'n' }] });
  await plane.patch(SERVICE, { spec: { trafficDistribution: 'PreferSameZone' } });
  expect(await hints()).toEqual({ forZones: [{ name: 'z1' }] });
  await plane.patch(SERVICE, { spec: { trafficDistribution: null } });
  expect(await hints()).toBeUndefined();
});
