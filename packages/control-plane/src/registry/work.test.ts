import { afterEach, expect, test, vi } from 'vitest';
import { TestPlane } from '../controllers/testing.ts';
import { Registry } from '../resources/registry.ts';
import { MemoryStore } from '../store/memory-store.ts';

const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const PODS = '/api/v1/namespaces/default/pods';

afterEach(() => vi.restoreAllMocks());

async function makeApp(plane: TestPlane, app: string): Promise<void> {
  await plane.must('POST', PODS, {
    metadata: { name: app, labels: { tier: 'web', app } },
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

/** Returns how many objects the second of two evictions reads. */
async function readsOfAnEviction(others: number): Promise<number> {
  await using plane = await TestPlane.start('disruption');
  for (const app of ['first', 'second']) await makeApp(plane, app);
  for (let i = 0; i < others; i++) {
    const spec = { minAvailable: 1, selector: { matchLabels: { tier: 'web', app: `other-${i}` } } };
    await plane.must('POST', BUDGETS, { metadata: { name: `other-${i}` }, spec });
  }
  expect((await evict(plane, 'first')).code).toBe(201);
  const parse = vi.spyOn(Registry.prototype, 'parse');
  const find = vi.spyOn(MemoryStore.prototype, 'find');
  expect((await evict(plane, 'second')).code).toBe(201);
  const found = find.mock.results.reduce((sum, { value }) => sum + (value as readonly unknown[]).length, 0);
  const reads = parse.mock.calls.length;
  vi.restoreAllMocks();
  return reads + found;
}

test('an eviction reads only the budgets of its pod, independent of the number of others', async () => {
  const alone = await readsOfAnEviction(2);
  expect(await readsOfAnEviction(40)).toBe(alone);
});

test.each([
  ['PUT', { metadata: { name: 'n', labels: { changed: 'yes' } } }],
  ['DELETE', undefined],
] as const)('a %s reads its object once', async (method, body) => {
  await using plane = await TestPlane.start('disruption');
  await plane.must('POST', '/api/v1/nodes', { metadata: { name: 'n' } });
  const parse = vi.spyOn(Registry.prototype, 'parse');
  await plane.must(method, '/api/v1/nodes/n', body);
  expect(parse).toHaveBeenCalledOnce();
});

/**
 * Returns how many stored objects each type of request reads.
 * @param others the number of unrelated objects
 */
async function touched(others: number): Promise<Record<string, number>> {
  await using plane = await TestPlane.start('resourcequota');
  const spec = { nodeName: 'n', containers: [{ name: 'main', image: 'pause' }] };
  const many = async (path: string, body: (name: string) => object): Promise<void> => {
    for (let i = 0; i < others; i++) await plane.must('POST', path, body(`other-${i}`));
  };
  await many('/apis/scheduling.k8s.io/v1/priorityclasses', (name) => ({ metadata: { name }, value: 1 }));
  await many('/apis/storage.k8s.io/v1/storageclasses', (name) => ({ metadata: { name }, provisioner: 'p' }));
  await many('/api/v1/namespaces/default/resourcequotas', (name) => ({
    metadata: { name },
    spec: { hard: { 'count/leases.coordination.k8s.io': '1000' } },
  }));
  await many('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', (name) => crd(name));
  await many('/api/v1/namespaces/default/services', (name) => ({ metadata: { name }, spec: { ports: [{ port: 1 }] } }));
  await many(PODS, (name) => ({ metadata: { name, labels: { app: name } }, spec }));
  const first = await plane.must('POST', PODS, { metadata: { name: 'mine', labels: { app: 'mine' } }, spec });
  await many('/api/v1/namespaces/default/configmaps', (name) => ({ metadata: { name } }));
  for (let i = 0; i < others; i++)
    await plane.patch(`${PODS}/other-${i}`, { metadata: { labels: { changed: 'yes' } } });
  const version = first.metadata.resourceVersion;
  const watch = async (query: string): Promise<void> => {
    const at = `${PODS}?watch=true&timeoutSeconds=1&resourceVersion=${version}&${query}`;
    const answer = await plane.fetch(at);
    await plane.clock.advance(1_000);
    await answer.text();
  };
  const requests: Record<string, () => Promise<unknown>> = {
    'create a pod': () => plane.must('POST', PODS, { metadata: { name: 'other' }, spec }),
    'create a claim': () =>
      plane.must('POST', '/api/v1/namespaces/default/persistentvolumeclaims', {
        metadata: { name: 'c' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      }),
    'create a secret': () => plane.must('POST', '/api/v1/namespaces/default/secrets', { metadata: { name: 's' } }),
    'create a service': () =>
      plane.must('POST', '/api/v1/namespaces/default/services', {
        metadata: { name: 's' },
        spec: { ports: [{ port: 1 }] },
      }),
    'create a CRD': () => plane.must('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd('mine')),
    get: () => plane.must('GET', `${PODS}/mine`),
    'list by name': () => plane.must('GET', `${PODS}?fieldSelector=metadata.name%3Dmine`),
    'list by label': () => plane.must('GET', `${PODS}?labelSelector=app%3Dmine`),
    'list by a label that others have': () => plane.must('GET', `${PODS}?labelSelector=%21changed`),
    'list by a label that few have': () => plane.must('GET', `${PODS}?labelSelector=mine`),
    'list by another value': () => plane.must('GET', `${PODS}?labelSelector=changed%21%3Dyes`),
    'list by another field': () => plane.must('GET', `${PODS}?fieldSelector=spec.nodeName%21%3Dn`),
    'list a page': () => plane.must('GET', `${PODS}?limit=1`),
    'list a page of the past': () =>
      plane.must('GET', `${PODS}?limit=1&resourceVersion=${version}&resourceVersionMatch=Exact`),
    'watch one': () => watch('fieldSelector=metadata.name%3Dmine'),
    'watch a label': () => watch('labelSelector=app%3Dmine'),
    patch: () => plane.patch(`${PODS}/mine`, { metadata: { labels: { more: 'x' } } }),
    delete: () => plane.must('DELETE', `${PODS}/other?gracePeriodSeconds=0`),
    'delete by label': () => plane.must('DELETE', `${PODS}?labelSelector=app%3Dmine&gracePeriodSeconds=0`),
  };
  const counts: Record<string, number> = {};
  for (const [name, request] of Object.entries(requests)) {
    const spies = (['list', 'find', 'since'] as const).map((method) => vi.spyOn(MemoryStore.prototype, method));
    const parse = vi.spyOn(Registry.prototype, 'parse');
    await request();
    counts[name] = parse.mock.calls.length;
    for (const spy of spies) {
      for (const { value } of spy.mock.results) {
        counts[name] += Array.isArray(value)
          ? value.length
          : ((value as { records?: unknown[] } | undefined)?.records?.length ?? 0);
      }
    }
    vi.restoreAllMocks();
  }
  return counts;
}

const crd = (name: string): object => ({
  metadata: { name: `${name}s.example.dev` },
  spec: {
    group: 'example.dev',
    scope: 'Namespaced',
    names: { plural: `${name}s`, kind: name.replace(/[^a-z0-9]/g, '').replace(/^./, (first) => first.toUpperCase()) },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
});

test('the number of records that a request reads does not depend on the number of others', async () => {
  expect(await touched(70)).toEqual(await touched(2));
});
