import { expect, test } from 'vitest';
import { controllerNames } from './index.ts';
import { TestPlane } from './testing.ts';

test('all controllers together send no write on a day without changes', async () => {
  await using plane = await TestPlane.start(...controllerNames);
  const apps = '/apis/apps/v1/namespaces/default';
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const spec = { replicas: 2, selector: { matchLabels: { a: 'b' } }, template };
  await plane.must('POST', `${apps}/deployments`, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd' },
    spec,
  });
  await plane.must('POST', '/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'b' },
    spec: { minAvailable: 1, selector: { matchLabels: { a: 'b' } } },
  });
  await plane.clock.advance(15 * 60_000);
  const version = async (): Promise<unknown> =>
    (await plane.must('GET', '/api/v1/namespaces?limit=1')).metadata.resourceVersion;
  await plane.clock.advance(2 * 3_600_000);
  const before = await version();
  await plane.clock.advance(24 * 3_600_000);
  expect(await version()).toBe(before);
  expect(plane.errors).toEqual([]);
});
