import { expect, test } from 'vitest';
import { TestPlane } from '../testing.ts';

const V1 = '/api/v1/namespaces/default';
const QUOTA = `${V1}/resourcequotas/q`;
const pod = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '250m' }, limits: { cpu: '1' } } }],
  },
});

test('a quota counts earlier objects, finished pods and deletions, and follows changes of its limits', async () => {
  await using plane = await TestPlane.start('resourcequota');
  const status = async () => (await plane.must('GET', QUOTA)).status;
  for (const name of ['a', 'b', 'c']) await plane.must('POST', `${V1}/pods`, pod(name));
  const spec = { hard: { pods: '4', 'requests.cpu': '2', 'count/configmaps': '9' } };
  const before = (await plane.list(`${V1}/configmaps`)).length;
  await plane.must('POST', `${V1}/resourcequotas`, {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'q' },
    spec,
  });
  expect(await status()).toEqual({
    hard: spec.hard,
    used: { pods: '3', 'requests.cpu': '750m', 'count/configmaps': String(before) },
  });
  await plane.patch(`${V1}/pods/a/status`, { status: { phase: 'Succeeded' } });
  expect(await status()).toMatchObject({ used: { pods: '2', 'requests.cpu': '500m' } });
  await plane.must('DELETE', `${V1}/pods/b`);
  expect(await status()).toMatchObject({ used: { pods: '1', 'requests.cpu': '250m' } });
  await plane.patch(QUOTA, { spec: { hard: { pods: '5', 'requests.cpu': null } } });
  expect(await status()).toMatchObject({ hard: { pods: '5' }, used: { pods: '1' } });
  expect(await status()).not.toHaveProperty('used.requests.cpu');
  expect(plane.errors).toEqual([]);
});
