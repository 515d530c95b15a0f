import { expect, test } from 'vitest';
import { TestPlane } from '../testing.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

const owned = (
  name: string,
  owners: { name: string; uid: string | undefined; block?: boolean }[],
  finalizers: string[] = [],
) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name,
    finalizers,
    ownerReferences: owners.map(({ name: owner, uid, block }) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: owner,
      uid,
      ...(block === true ? { blockOwnerDeletion: true } : {}),
    })),
  },
});

const plain = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

test('background: dependents are deleted after their owner', async () => {
  await using plane = await TestPlane.start('garbage-collector');
  const owner = await plane.must('POST', MAPS, plain('o'));
  await plane.must('POST', MAPS, owned('d', [{ name: 'o', uid: owner.metadata.uid }]));
  expect(await plane.exists(`${MAPS}/d`)).toBe(true);
  await plane.must('DELETE', `${MAPS}/o`);
  expect(await plane.exists(`${MAPS}/d`)).toBe(false);
  expect(plane.errors).toEqual([]);
});

test('a dependent with two owners remains until both are deleted', async () => {
  await using plane = await TestPlane.start('garbage-collector');
  const [o, p] = [await plane.must('POST', MAPS, plain('o')), await plane.must('POST', MAPS, plain('p'))];
  await plane.must(
    'POST',
    MAPS,
    owned('d', [
      { name: 'o', uid: o.metadata.uid },
      { name: 'p', uid: p.metadata.uid },
    ]),
  );
  await plane.must('DELETE', `${MAPS}/o`);
  expect((await plane.must('GET', `${MAPS}/d`)).metadata.ownerReferences?.map(({ name }) => name)).toEqual(['p']);
  await plane.must('DELETE', `${MAPS}/p`);
  expect(await plane.exists(`${MAPS}/d`)).toBe(false);
});

test('foreground: the owner waits for its blocking dependents', async () => {
  await using plane = await TestPlane.start('garbage-collector');
  const owner = await plane.must('POST', MAPS, plain('o'));
  await plane.must('POST', MAPS, owned('d', [{ name: 'o', uid: owner.metadata.uid, block: true }], ['example.dev/f']));
  await plane.must('DELETE', `${MAPS}/o?propagationPolicy=Foreground`);
  expect((await plane.must('GET', `${MAPS}/d`)).metadata.deletionTimestamp).toBeDefined();
  expect((await plane.must('GET', `${MAPS}/o`)).metadata.finalizers).toEqual(['foregroundDeletion']);
  await plane.patch(`${MAPS}/d`, { metadata: { finalizers: null } });
  expect(await plane.exists(`${MAPS}/o`)).toBe(false);
});

test('orphan: dependents remain, without their reference', async () => {
  await using plane = await TestPlane.start('garbage-collector');
  const owner = await plane.must('POST', MAPS, plain('o'));
  await plane.must('POST', MAPS, owned('d', [{ name: 'o', uid: owner.metadata.uid }]));
  await plane.must('DELETE', `${MAPS}/o?propagationPolicy=Orphan`);
  expect(await plane.exists(`${MAPS}/o`)).toBe(false);
  expect((await plane.must('GET', `${MAPS}/d`)).metadata.ownerReferences).toBeUndefined();
});

test.each([
  ['never existed', 'ghost'],
  ['has another uid', 'o'],
])('a dependent whose owner %s is collected', async (_title, name) => {
  await using plane = await TestPlane.start('garbage-collector');
  await plane.must('POST', MAPS, plain('o'));
  await plane.must('POST', MAPS, owned('d', [{ name, uid: '00000000-0000-0000-0000-00000000dead' }]));
  expect(await plane.exists(`${MAPS}/d`)).toBe(false);
  expect(await plane.exists(`${MAPS}/o`)).toBe(true);
});

test('OwnerRefInvalidNamespace: an owner in another namespace is ignored, and the dependent is reported and deleted', async () => {
  await using plane = await TestPlane.start('garbage-collector');
  await plane.must('POST', '/api/v1/namespaces', { metadata: { name: 'other' } });
  const maps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;
  const { uid } = (await plane.must('POST', maps('default'), { metadata: { name: 'owner' } })).metadata;
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }];
  await plane.must('POST', maps('other'), { metadata: { name: 'lost', ownerReferences } });
  expect(await plane.exists(`${maps('other')}/lost`)).toBe(false);
  const [event] = await plane.list('/api/v1/namespaces/other/events');
  expect(event).toMatchObject({
    reason: 'OwnerRefInvalidNamespace',
    message: `ownerRef [v1/ConfigMap, namespace: other, name: owner, uid: ${uid}] does not exist in namespace "other"`,
  });
});

const reference = (owner: { metadata: { uid?: string } }, more: Record<string, unknown> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: 'o',
  uid: owner.metadata.uid,
  ...more,
});
const dependent = (...ownerReferences: unknown[]) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'd', ownerReferences },
});

test.each([
  ['name', { name: 'p' }],
  ['kind', { kind: 'Secret' }],
])('an owner with a different %s than in the reference is ignored', async (_name, wrong) => {
  await using plane = await TestPlane.start('garbage-collector');
  const owner = await plane.must('POST', MAPS, plain('o'));
  await plane.must('POST', MAPS, dependent(reference(owner, wrong)));
  expect(await plane.exists(`${MAPS}/d`)).toBe(false);
  expect(plane.errors).toEqual([]);
});

test('a reference may have any served version of its owner', async () => {
  await using plane = await TestPlane.start('garbage-collector');
  const path = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' };
  const scaler = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', metadata: { name: 'o' } };
  const owner = await plane.must('POST', path, { ...scaler, spec: { maxReplicas: 2, scaleTargetRef } });
  const kind = 'HorizontalPodAutoscaler';
  await plane.must('POST', MAPS, dependent(reference(owner, { apiVersion: 'autoscaling/v1', kind })));
  expect(await plane.exists(`${MAPS}/d`)).toBe(true);
  await plane.must('DELETE', `${path}/o`);
  expect(await plane.exists(`${MAPS}/d`)).toBe(false);
});

test('an owner of a kind that is not served counts as unknown until the kind is served', async () => {
  await using plane = await TestPlane.start('garbage-collector');
  const ghost = reference({ metadata: { uid: 'u' } }, { name: 'ghost' });
  await plane.must('POST', MAPS, dependent(ghost, reference({ metadata: { uid: 'x' } }, { apiVersion: 'x.dev/v1' })));
  const owners = (await plane.must('GET', `${MAPS}/d`)).metadata.ownerReferences;
  expect(owners).toHaveLength(2);
  const schema = { openAPIV3Schema: { type: 'object' } };
  await plane.must('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'configmaps.x.dev' },
    spec: {
      group: 'x.dev',
      scope: 'Namespaced',
      names: { plural: 'configmaps', kind: 'ConfigMap' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  });
  expect(await plane.exists(`${MAPS}/d`)).toBe(false);
  expect(plane.errors).toEqual([]);
});

test('a cluster-scoped object with an owner in a namespace is not changed, and reported once', async () => {
  await using plane = await TestPlane.start('garbage-collector');
  const owner = await plane.must('POST', MAPS, plain('o'));
  const ghost = { apiVersion: 'v1', kind: 'Node', name: 'ghost', uid: 'u' };
  const metadata = { name: 'd', ownerReferences: [reference(owner), ghost] };
  await plane.must('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata });
  await plane.patch('/api/v1/namespaces/d', { metadata: { finalizers: ['x.dev/f'] } });
  expect((await plane.must('GET', '/api/v1/namespaces/d')).metadata.ownerReferences).toHaveLength(2);
  const reported = (await plane.list('/api/v1/namespaces/default/events')).map(({ reason, count }) => [reason, count]);
  expect(reported).toEqual([['OwnerRefInvalidNamespace', 1]]);
});

test('foreground: dependents that do not block are deleted at once too, independent of other finalizers of the owner', async () => {
  await using plane = await TestPlane.start('garbage-collector');
  const owner = await plane.must('POST', MAPS, { ...plain('o'), metadata: { name: 'o', finalizers: ['x.dev/f'] } });
  await plane.must('POST', MAPS, dependent(reference(owner)));
  await plane.must('DELETE', `${MAPS}/o?propagationPolicy=Foreground`);
  expect(await plane.exists(`${MAPS}/d`)).toBe(false);
  expect((await plane.must('GET', `${MAPS}/o`)).metadata.finalizers).toEqual(['x.dev/f']);
});

test('a dependent with another owner loses the reference to the waiting owner', async () => {
  await using plane = await TestPlane.start('garbage-collector');
  const owner = await plane.must('POST', MAPS, plain('o'));
  const other = await plane.must('POST', MAPS, plain('p'));
  const blocking = { blockOwnerDeletion: true };
  await plane.must('POST', MAPS, dependent(reference(owner, blocking), reference(other, { name: 'p' })));
  await plane.must('DELETE', `${MAPS}/o?propagationPolicy=Foreground`);
  expect(await plane.exists(`${MAPS}/o`)).toBe(false);
  expect((await plane.must('GET', `${MAPS}/d`)).metadata.ownerReferences).toMatchObject([{ name: 'p' }]);
});

test('foreground: two objects that block each other are deleted', async () => {
  await using plane = await TestPlane.start('garbage-collector');
  const owner = await plane.must('POST', MAPS, plain('o'));
  const blocking = { blockOwnerDeletion: true };
  const other = await plane.must('POST', MAPS, dependent(reference(owner, blocking)));
  const ownerReferences = [reference(other, { ...blocking, name: 'd' })];
  await plane.patch(`${MAPS}/o`, { metadata: { ownerReferences } });
  await plane.must('DELETE', `${MAPS}/o?propagationPolicy=Foreground`);
  expect(
    await plane.list(MAPS).then((maps) => maps.filter(({ metadata }) => 'od'.includes(metadata.name ?? ''))),
  ).toEqual([]);
  expect(plane.errors).toEqual([]);
});

test('orphan: an object with the orphan finalizer that loses its owner keeps its own dependents', async () => {
  await using plane = await TestPlane.start('garbage-collector');
  const owner = await plane.must('POST', MAPS, plain('o'));
  const middle = await plane.must('POST', MAPS, owned('m', [{ name: 'o', uid: owner.metadata.uid }], ['orphan']));
  await plane.must('POST', MAPS, dependent(reference(middle, { name: 'm' })));
  await plane.must('DELETE', `${MAPS}/o`);
  expect(await plane.exists(`${MAPS}/m`)).toBe(false);
  expect((await plane.must('GET', `${MAPS}/d`)).metadata.ownerReferences).toBeUndefined();
});
