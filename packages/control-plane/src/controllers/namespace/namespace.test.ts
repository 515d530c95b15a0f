import { describe, expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { TestPlane } from '../testing.ts';
import { terminationConditions } from './index.ts';

const NS = '/api/v1/namespaces/gone';

const conditionsOf = (namespace: ApiObject): Record<string, string> =>
  Object.fromEntries(
    ((namespace.status as { conditions?: Record<string, string>[] }).conditions ?? []).map((one) => [
      one.type,
      `${one.status} ${one.reason}: ${one.message}`,
    ]),
  );

const begin = async (plane: TestPlane): Promise<void> => {
  await plane.must('POST', '/api/v1/namespaces', { metadata: { name: 'gone' } });
  await plane.must('POST', `${NS}/serviceaccounts`, { metadata: { name: 'default' } });
  await plane.must('POST', `${NS}/configmaps`, { metadata: { name: 'held', finalizers: ['example.dev/hold'] } });
};

test('what is left with finalizers is counted and told, and the namespace goes when it has gone', async () => {
  await using plane = await TestPlane.start('namespace');
  await begin(plane);
  await plane.must('DELETE', NS);
  await plane.clock.advance(1000);
  expect(conditionsOf(await plane.must('GET', NS))).toMatchObject({
    NamespaceDeletionContentFailure:
      'False ContentDeleted: All content successfully deleted, may be waiting on finalization',
    NamespaceContentRemaining:
      'True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances',
    NamespaceFinalizersRemaining:
      'True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.dev/hold in 1 resource instances',
  });
  await plane.patch(`${NS}/configmaps/held`, { metadata: { finalizers: null } });
  await plane.clock.advance(1000);
  expect(await plane.exists(NS)).toBe(false);
  expect(plane.errors).toEqual([]);
});

test('pods go first: until they have, everything else stays, and nothing is said of it', async () => {
  await using plane = await TestPlane.start('namespace');
  await begin(plane);
  await plane.must('POST', `${NS}/pods`, {
    metadata: { name: 'p', finalizers: ['example.dev/hold'] },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });
  await plane.must('DELETE', NS);
  await plane.clock.advance(1000);
  expect((await plane.must('GET', `${NS}/pods/p`)).metadata.deletionTimestamp).toBeDefined();
  expect((await plane.must('GET', `${NS}/configmaps/held`)).metadata.deletionTimestamp).toBeUndefined();
  expect(conditionsOf(await plane.must('GET', NS)).NamespaceContentRemaining).toBe(
    'False ContentRemoved: All content successfully removed',
  );
  await plane.patch(`${NS}/pods/p`, { metadata: { finalizers: null } });
  await plane.clock.advance(1000);
  expect((await plane.must('GET', `${NS}/configmaps/held`)).metadata.deletionTimestamp).toBeDefined();
  expect(plane.errors).toEqual([]);
});

test('deletions that are refused are told in order, with their number', () => {
  const namespace: ApiObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'gone' } };
  const failures = ['a is refused', 'b is refused'];
  const conditions = terminationConditions(namespace, [], failures, new Date('2024-01-01T00:00:00Z'));
  expect(conditions[2]).toMatchObject({
    type: 'NamespaceDeletionContentFailure',
    status: 'True',
    reason: 'ContentDeletionFailed',
    message: 'Failed to delete all resource types, 2 remaining: a is refused, b is refused',
  });
});

describe('what else holds a namespace', () => {
  const status = async (plane: TestPlane): Promise<Record<string, string>> => conditionsOf(await plane.must('GET', NS));

  test('a finalizer of its own: it is emptied, told to be empty, and goes with the finalizer', async () => {
    await using plane = await TestPlane.start('namespace');
    await plane.must('POST', '/api/v1/namespaces', { metadata: { name: 'gone', finalizers: ['example.dev/hold'] } });
    await plane.must('POST', `${NS}/configmaps`, { metadata: { name: 'c' } });
    await plane.must('DELETE', NS);
    await plane.clock.advance(1000);
    expect(await plane.exists(`${NS}/configmaps/c`)).toBe(false);
    expect((await plane.must('GET', NS)).spec).toEqual({});
    expect(await status(plane)).toMatchObject({
      NamespaceContentRemaining: 'False ContentRemoved: All content successfully removed',
    });
    await plane.patch(NS, { metadata: { finalizers: null } });
    expect(await plane.exists(NS)).toBe(false);
  });

  test("a finalizer of somebody else's in its spec: it goes when that has been taken away", async () => {
    await using plane = await TestPlane.start('namespace');
    await plane.must('POST', '/api/v1/namespaces', {
      metadata: { name: 'gone' },
      spec: { finalizers: ['kubernetes', 'example.dev/hold'] },
    });
    await plane.must('DELETE', NS);
    await plane.clock.advance(1000);
    expect((await plane.must('GET', NS)).spec).toEqual({ finalizers: ['example.dev/hold'] });
    await plane.must('PUT', `${NS}/finalize`, { metadata: { name: 'gone' }, spec: {} });
    expect(await plane.exists(NS)).toBe(false);
  });
});
