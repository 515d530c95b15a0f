import { afterEach, expect, test, vi } from 'vitest';
import { TestPlane } from '../controllers/testing.ts';
import { Registry } from './registry.ts';

const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const PODS = '/api/v1/namespaces/default/pods';

afterEach(() => vi.restoreAllMocks());

async function makeApp(plane: TestPlane, app: string): Promise<void> {
  await plane.must('POST', PODS, {
    metadata: { name: app, labels: { app } },
    spec: { nodeName: 'n', containers: [{ name: 'main', image: 'pause' }] },
  });
  await plane.patch(`${PODS}/${app}/status`, {
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  });
  await plane.must('POST', BUDGETS, {
    metadata: { name: app },
    spec: { minAvailable: 0, selector: { matchLabels: { app } } },
  });
}

const evict = (plane: TestPlane, name: string) =>
  plane.send('POST', `${PODS}/${name}/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } });

/** How many objects the second of two evictions reads: by then every budget was looked at once. */
async function readsOfAnEviction(others: number): Promise<number> {
  await using plane = await TestPlane.start('disruption');
  for (const app of ['first', 'second']) await makeApp(plane, app);
  for (let i = 0; i < others; i++) {
    const spec = { minAvailable: 1, selector: { matchLabels: { app: `other-${i}` } } };
    await plane.must('POST', BUDGETS, { metadata: { name: `other-${i}` }, spec });
  }
  expect((await evict(plane, 'first')).code).toBe(201);
  const parse = vi.spyOn(Registry.prototype, 'parse');
  expect((await evict(plane, 'second')).code).toBe(201);
  const reads = parse.mock.calls.length;
  parse.mockRestore();
  return reads;
}

test('an eviction reads no budgets but its pod’s, however many the namespace has', async () => {
  const alone = await readsOfAnEviction(0);
  expect(await readsOfAnEviction(40)).toBe(alone);
});

test('a delete that nothing holds up reads its object twice', async () => {
  await using plane = await TestPlane.start('disruption');
  await plane.must('POST', '/api/v1/nodes', { metadata: { name: 'n' } });
  const parse = vi.spyOn(Registry.prototype, 'parse');
  await plane.must('DELETE', '/api/v1/nodes/n');
  expect(parse).toHaveBeenCalledTimes(2);
});
