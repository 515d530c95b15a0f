import { Annotations, type Machine, type MachineSet } from '@mcm/api';
import { expect, test } from 'vitest';
import { deployment, machine, minutes, NOW, set } from '../../set/test-objects.ts';
import { ScaleRequests } from './scale-requests.ts';

const running = (name: string, options: Parameters<typeof machine>[1] = {}): Machine =>
  machine(name, { phase: 'Running', ...options });

function start(machines: readonly Machine[], others: readonly string[] = []) {
  const called: unknown[][] = [];
  const access = {
    context: {
      clock: { now: () => NOW },
      machines: { store: { get: (key: string) => (others.includes(key) ? {} : undefined) } },
      recorder: { event: (_about: unknown, ...rest: unknown[]) => called.push(['event', ...rest]) },
    },
    machinesOf: ({ metadata }: MachineSet) => (metadata.name === 'new' ? machines : []),
    patch: async (pool: object, { annotations }: { annotations: object }) => {
      called.push(['list', annotations]);
      return pool;
    },
    sets: {
      patch: async (of: { metadata: { name: string } }, body: object) => {
        called.push(['set', of.metadata.name, body]);
      },
    },
    machines: {
      patchAll: async (patches: readonly { machine: Machine; body: object }[]) => {
        for (const { machine: one, body } of patches) called.push(['mark', one.metadata.name, body]);
      },
    },
  };
  return { called, requests: new ScaleRequests(access as never) };
}

const signal = new AbortController().signal;
const current = set('new', 2);

test('a named machine that is not deleted is reported once, and again only after its name was removed', () => {
  const named = running('a', { priority: '1' });
  const machines = [named, running('b')];
  const { called, requests } = start(machines);
  const report = () => requests.reportUnmet('test/pool', deployment(2), [current]);
  report();
  report();
  expect(called).toEqual([
    [
      'event',
      'Normal',
      'ScaleInPending',
      expect.stringMatching(/^Machine a is marked for deletion but not deleted yet/),
    ],
  ]);
  machines[1] = running('c', { priority: '1' });
  report();
  expect(called.map((call) => String(call.at(-1)).split(' ')[1])).toEqual(['a', 'c']);
  machines[0] = running('a');
  machines[1] = running('b');
  report();
  machines[0] = named;
  report();
  expect(called).toHaveLength(3);
  requests.forget('test/pool');
  report();
  expect(called).toHaveLength(4);
});

test('the list is written before its machines are marked, and an event names what is dropped', async () => {
  const { called, requests } = start([running('a'), running('b')], ['test/foreign']);
  const list = `a~${minutes(-1)},foreign~${minutes(-1)},gone`;
  const annotations = { [Annotations.TriggerDeletion]: list, [Annotations.LastReplicaChangeByScaler]: minutes(-1) };
  await requests.applyTriggers(deployment(2, { annotations }), [current], signal);
  expect(called).toEqual([
    ['list', { [Annotations.TriggerDeletion]: `a~${minutes(-1)}` }],
    [
      'event',
      'Warning',
      'ScaleInRefused',
      `metadata.annotations[${Annotations.TriggerDeletion}]: dropped foreign (not a machine of this deployment)`,
    ],
    [
      'mark',
      'a',
      { metadata: { annotations: { [Annotations.Priority]: '1', [Annotations.MarkedForDeletionTime]: minutes(-1) } } },
    ],
  ]);
});

test('a list in its present form is not written, and without one nothing is', async () => {
  const { called, requests } = start([running('a', { priority: '1', marked: -1 })]);
  const annotations = {
    [Annotations.TriggerDeletion]: `a~${minutes(-1)}`,
    [Annotations.LastReplicaChangeByScaler]: minutes(-1),
  };
  await requests.applyTriggers(deployment(1, { annotations }), [set('new', 1)], signal);
  const pool = deployment(1);
  expect(await requests.applyTriggers(pool, [set('new', 1)], signal)).toBe(pool);
  expect(called).toEqual([]);
});

test.each([
  ['an earlier scale-down covers: the current time', 2, minutes(0)],
  ['the next scale-down is for: its own time', 1, minutes(-10)],
])('a name that %s marks the machine', async (_what, replicas, time) => {
  const { called, requests } = start([running('a'), running('b')]);
  const annotations = {
    [Annotations.TriggerDeletion]: `a~${minutes(-10)},gone~${minutes(-10)}`,
    [Annotations.LastReplicaChangeByScaler]: minutes(-5),
  };
  const scaled = { [Annotations.LastReplicaChangeByScaler]: minutes(-5), [Annotations.DesiredReplicas]: '2' };
  await requests.applyTriggers(deployment(replicas, { annotations }), [set('new', 2, { annotations: scaled })], signal);
  const marks = { [Annotations.Priority]: '1', [Annotations.MarkedForDeletionTime]: time };
  expect(called).toEqual([
    ['list', { [Annotations.TriggerDeletion]: `a~${minutes(-10)}` }],
    ['mark', 'a', { metadata: { annotations: marks } }],
  ]);
});

test('a repeated request leaves the deployment without an event', async () => {
  const { called, requests } = start([running('a'), running('b')]);
  const request = { requestID: 'r1', machines: ['a'], from: 2, to: 1 };
  const results = [{ requestID: 'r1', outcome: 'Accepted', message: 'done' }];
  const annotations = {
    [Annotations.ScaleIn]: JSON.stringify(request),
    [Annotations.ScaleInResults]: JSON.stringify(results),
  };
  await requests.settleScaleIn(deployment(2, { annotations }), [current], signal);
  expect(called).toEqual([['list', { [Annotations.ScaleIn]: null }]]);
});

test('a deployment without a set drops the names of machines that are gone', async () => {
  const { called, requests } = start([]);
  const annotations = { [Annotations.TriggerDeletion]: 'gone' };
  await requests.applyTriggers(deployment(2, { annotations }), [], signal);
  expect(called).toEqual([['list', { [Annotations.TriggerDeletion]: null }]]);
});

const undone = () => {
  const annotations = {
    [Annotations.TriggerDeletion]: `a~${minutes(-1)}`,
    [Annotations.LastReplicaChangeByScaler]: minutes(-1),
  };
  const pool = deployment(2, { annotations });
  return { ...pool, metadata: { ...pool.metadata, generation: 5 }, status: { ...pool.status, observedGeneration: 3 } };
};

test('an unseen reduction is written to the version of the set that was read, and its machines are not marked yet', async () => {
  const { called, requests } = start([running('a'), running('b')]);
  const read = { ...current, metadata: { ...current.metadata, uid: 'uid-new', resourceVersion: '7' } };
  expect(await requests.applyTriggers(undone(), [read], signal)).toBeUndefined();
  const annotations = { [Annotations.LastReplicaChangeByScaler]: minutes(-1) };
  expect(called).toEqual([['set', 'new', { metadata: { uid: 'uid-new', resourceVersion: '7', annotations } }]]);
});

test('an unseen reduction that the coming one covers needs no write of the set', async () => {
  const { called, requests } = start([running('a'), running('b')]);
  const scaled = set('new', 2, { annotations: { [Annotations.DesiredReplicas]: '3' } });
  expect(await requests.applyTriggers(undone(), [scaled], signal)).toBeDefined();
  expect(called.map(([kind]) => kind)).not.toContain('set');
});
