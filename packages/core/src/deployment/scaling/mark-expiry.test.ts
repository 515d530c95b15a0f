import { Annotations, type MachineDeployment } from '@mcm/api';
import { expect, test } from 'vitest';
import { deployment, machine, NOW, set } from '../../set/test-objects.ts';
import { planExpiry, unmarked } from './mark-expiry.ts';
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

test('a mark is removed only in the version of the Machine on which the decision is based', () => {
  const marked = machine('m0', { phase: 'Running' });
  const { uid, resourceVersion } = marked.metadata;
  expect(resourceVersion).toMatch(/^\d+$/);
  expect(unmarked(marked)).toMatchObject({ metadata: { uid, resourceVersion } });
});

test.each(['m0', undefined])(
  'if the deployment changed since the decision, mcm removes no mark: list %s',
  async (list) => {
    const { given, workers, machines } = fleet(3);
    const annotations = { ...given.metadata.annotations, ...(list ? { [Annotations.TriggerDeletion]: list } : {}) };
    const seen = { ...given, metadata: { ...given.metadata, annotations } };
    const removed = async (stored: string | undefined) => {
      const patched: unknown[] = [];
      const access = {
        context: { clock: { now: () => NOW }, recorder: { event: () => undefined } },
        machinesOf: () => machines,
        patch: async ({ metadata }: MachineDeployment, change: object) => {
          if (metadata.resourceVersion !== stored) throw new Error('conflict');
          expect(change).toMatchObject({
            annotations: { [Annotations.MarksExpired]: NOW.toISOString().replace('.000', '') },
          });
        },
        machines: { patchAll: async (marks: readonly unknown[]) => patched.push(...marks) },
      };
      const requests = new ScaleRequests(access as never);
      const failed = await requests.expire(seen, [workers], new AbortController().signal).then(
        () => false,
        () => true,
      );
      return { failed, removed: patched.length };
    };
    expect(await removed(given.metadata.resourceVersion)).toEqual({ failed: false, removed: 1 });
    expect(await removed('newer')).toEqual({ failed: true, removed: 0 });
  },
);
