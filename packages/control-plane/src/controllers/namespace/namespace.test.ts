import { describe, expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { TestPlane } from '../testing.ts';
import { terminationConditions } from './conditions.ts';

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

test('objects with finalizers are counted and reported, and the namespace is deleted after them', async () => {
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

test('pods are deleted first; other objects remain until then and are not reported', async () => {
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

test('refused deletions are reported in order, with their number', () => {
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

describe('other finalizers of a namespace', () => {
  const status = async (plane: TestPlane): Promise<Record<string, string>> => conditionsOf(await plane.must('GET', NS));

  test('a finalizer in its metadata: its content is deleted, and the namespace is deleted with the finalizer', async () => {
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

  test('a foreign finalizer in its spec: it is deleted when this finalizer is removed', async () => {
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
