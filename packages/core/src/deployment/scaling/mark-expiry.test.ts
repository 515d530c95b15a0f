import { Annotations } from '@mcm/api';
import { expect, test } from 'vitest';
import { deployment, machine, NOW, set } from '../../set/test-objects.ts';
import { planExpiry } from './mark-expiry.ts';
import { ScaleRequests } from './scale-requests.ts';

const OLD = new Date(NOW.getTime() - 3_600_000).toISOString();

function fleet(replicas: number) {
  const made = deployment(replicas);
  const annotations = { ...made.metadata.annotations, [Annotations.MarkExpiry]: '10m' };
  const workers = set('a', 3);
  const marks = { [Annotations.Priority]: '1', [Annotations.MarkedForDeletionTime]: OLD };
  const machines = ['m0', 'm1', 'm2'].map((name, index) => {
    const one = machine(name, { phase: 'Running' });
    return index > 0 ? one : { ...one, metadata: { ...one.metadata, annotations: marks } };
  });
  return { given: { ...made, metadata: { ...made.metadata, annotations } }, workers, machines };
}

test('while the replicas are smaller than the set, no mark expires', () => {
  const plan = (replicas: number) => {
    const { given, workers, machines } = fleet(replicas);
    return planExpiry(given, [workers], () => machines, NOW)?.machines.map(({ metadata }) => metadata.name);
  };
  expect([plan(3), plan(2)]).toEqual([['m0'], undefined]);
});

test('mcm removes no mark if the cache lacks a new spec of the deployment', async () => {
  const { given, workers, machines } = fleet(3);
  const removed = async (generation: number | undefined) => {
    const patched: unknown[] = [];
    const access = {
      context: { clock: { now: () => NOW }, recorder: { event: () => undefined } },
      machinesOf: () => machines,
      client: { get: async () => ({ ...given, metadata: { ...given.metadata, generation } }) },
      machines: { patchAll: async (marks: readonly unknown[]) => patched.push(...marks) },
    };
    await new ScaleRequests(access as never).expire(given, [workers], new AbortController().signal);
    return patched.length;
  };
  const { generation } = given.metadata;
  expect([await removed(generation), await removed((generation ?? 0) + 1)]).toEqual([1, 0]);
});
