import { Annotations, type Machine, type MachineSet } from '@mcm/api';
import { KubeError } from '@mcm/kube';
import { expect, test } from 'vitest';
import { machine } from '../../machine/testing.ts';
import { nextMachineNames } from '../../objects/machine-names.ts';
import { type NumberMemory, NumberRecord } from './number-record.ts';

/** If a number was used twice, a new machine could get the VM of an earlier machine. */

const { signal } = new AbortController();
const UID = 'uid-set';

const setWith = (numbers?: string, change: object = {}): MachineSet =>
  ({
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineSet',
    metadata: {
      name: 'pool',
      namespace: 'test',
      uid: UID,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T12:00:00Z',
      ...(numbers === undefined ? {} : { annotations: { [Annotations.NextMachineNumbers]: numbers } }),
      ...change,
    },
    spec: {
      selector: { matchLabels: { app: 'pool', zone: 'a' } },
      template: { spec: { class: { kind: 'MachineClass', name: 'small' } } },
    },
  }) as MachineSet;

const NEW = setWith();
const [A = '', B = '', C = ''] = nextMachineNames(NEW, [], 3, () => false);
const owned = (name: string, uid = UID): Machine =>
  machine({
    name,
    metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'MachineSet', name: 'pool', uid, controller: true }] },
  });

interface World {
  readonly cached?: MachineSet;
  readonly machines?: readonly Machine[];
  readonly live?: MachineSet | 'none';
  readonly liveMachines?: readonly Machine[];
  readonly refuses?: KubeError;
}

function recordOf({ cached = NEW, machines = [], live = cached, liveMachines = machines, refuses }: World) {
  const known = [...machines];
  const calls: unknown[] = [];
  let stored: MachineSet = cached;
  const resources = {
    machinesets: {
      get: async () => {
        if (live === 'none') throw new KubeError('gone', { code: 404, reason: 'NotFound' });
        return live;
      },
      patch: async (_name: string, { body }: { readonly body: { readonly metadata: object } }) => {
        calls.push(body.metadata);
        if (refuses) throw refuses;
        return setWith(undefined, body.metadata);
      },
    },
    machines: {
      list: async ({ labelSelector }: { readonly labelSelector: string }) => {
        calls.push(labelSelector);
        return { items: liveMachines };
      },
    },
  };
  const context = {
    namespace: 'test',
    client: { resource: ({ plural }: { readonly plural: 'machinesets' | 'machines' }) => resources[plural] },
    sets: {
      store: { get: () => stored },
      recordWrite: (set: MachineSet) => {
        stored = set;
      },
    },
    machines: { store: { byIndex: () => known }, recordWrite: (one: Machine) => known.push(one) },
  };
  const record = new NumberRecord(context as never);
  const memory = record.memoryOf(cached);
  return { record, memory, calls, known, stored: () => stored };
}

const open = ({ unanswered }: NumberMemory): readonly string[] => [...unanswered].sort();

test('a new process repeats the creations that an earlier process did not record', () => {
  expect(open(recordOf({ machines: [owned(B)] }).memory)).toEqual([A]);
});

test('the first creation reads the set and its machines, and the next ones do not', async () => {
  const cached = setWith('20001');
  const { record, memory, calls, known } = recordOf({ cached, machines: [owned(A)] });
  expect(await record.catchUp(cached, memory, signal)).toBe(true);
  expect(calls).toEqual(['app=pool,zone=a']);
  expect(await record.catchUp(cached, memory, signal)).toBe(true);
  expect([calls.length, known.length]).toEqual([1, 1]);
});

test('a set without recorded numbers has no machines of another process', async () => {
  const { record, memory, calls } = recordOf({});
  expect(await record.catchUp(NEW, memory, signal)).toBe(true);
  expect(calls).toEqual([]);
});

test.each<[what: string, live: MachineSet | 'none']>([
  ['is gone', 'none'],
  ['was created again', setWith('20001', { uid: 'uid-another' })],
])('no machine is created if the set %s', async (_what, live) => {
  const cached = setWith('20001');
  const { record, memory, stored } = recordOf({ cached, live });
  expect(await record.catchUp(cached, memory, signal)).toBe(false);
  expect([memory.caughtUp, stored()]).toEqual([false, cached]);
});

test('machines that the cache lacks are added, and the set decides again', async () => {
  const cached = setWith('20001');
  const foreign = owned('pool-zzzzz', 'uid-other');
  const { record, memory, known } = recordOf({
    cached,
    machines: [owned(A)],
    liveMachines: [owned(A), owned(B), foreign],
  });
  expect(await record.catchUp(cached, memory, signal)).toBe(false);
  expect(known.map(({ metadata }) => metadata.name)).toEqual([A, B]);
  expect(await record.catchUp(cached, memory, signal)).toBe(true);
});

test('a newer set is stored, its open numbers are repeated, and the set decides again', async () => {
  const cached = setWith('20001');
  const live = setWith('20002,20001', { resourceVersion: '2' });
  const { record, memory, stored } = recordOf({ cached, live });
  expect(await record.catchUp(cached, memory, signal)).toBe(false);
  expect(stored()).toBe(live);
  expect(open(memory)).toEqual([B]);
});

test('the record contains the numbers of known, former and repeated machines', async () => {
  const { record, memory, calls } = recordOf({ machines: [owned(A)] });
  memory.unanswered.add(A).add(B);
  memory.exists(C);
  expect(await record.write(NEW, memory, undefined, signal)).toBe(true);
  expect(calls).toEqual([
    { uid: UID, resourceVersion: '1', annotations: { [Annotations.NextMachineNumbers]: '20003,20001' } },
  ]);
  expect([open(memory), memory.existed.size]).toEqual([[B], 0]);
  expect(await record.write(NEW, memory, undefined, signal)).toBe(true);
  expect(calls).toHaveLength(1);
});

test('a machine that existed is no longer repeated', () => {
  const { memory } = recordOf({});
  memory.unanswered.add(A);
  memory.exists(A);
  expect([open(memory), [...memory.existed]]).toEqual([[], [A]]);
});

test('the zones are part of the record', async () => {
  const { record, memory, calls } = recordOf({ machines: [owned(A)], cached: setWith('20001') });
  expect(await record.write(NEW, memory, undefined, signal)).toBe(true);
  expect(calls).toEqual([]);
  await record.write(NEW, memory, 'a=1', signal);
  expect(calls).toEqual([
    expect.objectContaining({
      annotations: { [Annotations.NextMachineNumbers]: '20001', [Annotations.ZonesOfReplicas]: 'a=1' },
    }),
  ]);
});

test.each<[what: string, refuses: KubeError, outcome: boolean | 'throws']>([
  ['after a conflict, the set is read again', new KubeError('changed', { code: 409, reason: 'Conflict' }), false],
  ['a set that is gone is read again', new KubeError('gone', { code: 404, reason: 'NotFound' }), false],
  ['a process that only observes continues', new KubeError('observes', { code: 0, reason: 'ObserveOnly' }), true],
  ['another error is thrown', new KubeError('no', { code: 500, reason: 'InternalError' }), 'throws'],
])('%s', async (_what, refuses, outcome) => {
  const { record, memory } = recordOf({ machines: [owned(A)], refuses });
  memory.exists(C);
  const written = record.write(NEW, memory, undefined, signal);
  if (outcome === 'throws') await expect(written).rejects.toThrow('no');
  else expect(await written).toBe(outcome);
  expect([...memory.existed]).toEqual([C]);
});

test('the numbers are not written to a new set with the name', async () => {
  const { record, memory, calls } = recordOf({ cached: setWith(undefined, { uid: 'uid-new' }), machines: [owned(A)] });
  expect(await record.write(NEW, memory, undefined, signal)).toBe(false);
  expect(calls).toEqual([]);
});
