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

test('background: dependents follow their owner', async () => {
  await using plane = await TestPlane.start('garbage-collector');
  const owner = await plane.must('POST', MAPS, plain('o'));
  await plane.must('POST', MAPS, owned('d', [{ name: 'o', uid: owner.metadata.uid }]));
  expect(await plane.exists(`${MAPS}/d`)).toBe(true);
  await plane.must('DELETE', `${MAPS}/o`);
  expect(await plane.exists(`${MAPS}/d`)).toBe(false);
  expect(plane.errors).toEqual([]);
});

test('a dependent with two owners lives until both are gone', async () => {
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

test('foreground: the owner waits for what blocks it', async () => {
  await using plane = await TestPlane.start('garbage-collector');
  const owner = await plane.must('POST', MAPS, plain('o'));
  await plane.must('POST', MAPS, owned('d', [{ name: 'o', uid: owner.metadata.uid, block: true }], ['example.dev/f']));
  await plane.must('DELETE', `${MAPS}/o?propagationPolicy=Foreground`);
  expect((await plane.must('GET', `${MAPS}/d`)).metadata.deletionTimestamp).toBeDefined();
  expect((await plane.must('GET', `${MAPS}/o`)).metadata.finalizers).toEqual(['foregroundDeletion']);
  await plane.patch(`${MAPS}/d`, { metadata: { finalizers: null } });
  expect(await plane.exists(`${MAPS}/o`)).toBe(false);
});

test('orphan: dependents stay, without their reference', async () => {
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

test('OwnerRefInvalidNamespace: an owner in another namespace is none, and the dependent is told of and goes', async () => {
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
