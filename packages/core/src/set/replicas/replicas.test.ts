import { Annotations, Labels, type Machine, type MachineSet, UpdateResults } from '@mcm/api';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DeletionState } from '../../control/expectations.ts';
import { slowStart } from '../../flow/slow-start.ts';
import { machine, machinesOf, minutes, NOW, set } from '../test-objects.ts';
import { chooseForDeletion } from './deletion-order.ts';
import { BURST, planReplicas, type SetSnapshot } from './replicas.ts';

const snapshot = (replicas: number, machines: readonly Machine[], change: Partial<SetSnapshot> = {}): SetSnapshot => ({
  set: set('ms', replicas),
  machines,
  deleting: new Map(),
  nodeAnnotations: () => undefined,
  now: NOW,
  ...change,
});

const handedOver = { labels: { [Labels.UpdateResult]: UpdateResults.Successful } };
const scaler = (offset: number): MachineSet =>
  set('ms', 0, { annotations: { [Annotations.LastReplicaChangeByScaler]: minutes(offset) } });
const marked = (replicas: number, priority: string, mark: number, until: number | undefined): SetSnapshot => {
  const base = until === undefined ? set('ms', replicas) : scaler(until);
  const machines = ['a', 'b'].map((name) => machine(name, { phase: 'Running', priority, marked: mark }));
  return snapshot(replicas, machines, { set: { ...base, spec: { ...base.spec, replicas } } });
};

const listed = (
  replicas: number,
  entries: Readonly<Record<string, number | undefined>>,
  mark: { marked?: number },
  falling = false,
): SetSnapshot => {
  const base = scaler(1);
  const named = new Map(
    Object.entries(entries).map(([name, at]) => [name, at === undefined ? at : Date.parse(minutes(at))]),
  );
  const machines = [
    machine('a', { phase: 'Running', ...mark, ...(mark.marked === undefined ? {} : { priority: '1' }) }),
    machine('b', { phase: 'Running', priority: '0' }),
  ];
  return snapshot(replicas, machines, {
    set: { ...base, spec: { ...base.spec, replicas } },
    scaler: { named, falling },
  });
};

describe('replicas', () => {
  test.each<[title: string, given: SetSnapshot, create: number, toDelete: number]>([
    ['M-01 a missing machine is created', snapshot(3, machinesOf(2, 'Running')), 1, 0],
    ['M-03 a complete set does nothing', snapshot(3, machinesOf(3, 'Running')), 0, 0],
    [
      'M-04 the Failed machine is deleted',
      snapshot(3, [...machinesOf(3, 'Running'), machine('f', { phase: 'Failed' })]),
      0,
      1,
    ],
    ['M-05 a named machine is deleted, also without a surplus', marked(2, '1', 0, 1), 0, 2],
    ['M-05 machines that the scaler named are deleted, also more than the surplus', marked(1, '1', 0, 1), 0, 2],
    [
      'M-05 a machine that the scaler named is the surplus: no machine of lower priority is deleted in addition',
      {
        ...marked(1, '1', 0, 1),
        machines: [
          machine('a', { phase: 'Running', priority: '1', marked: 0 }),
          machine('b', { phase: 'Running', priority: '0' }),
        ],
      },
      0,
      1,
    ],
    ['M-07 not with a mark from after the last scaling', marked(2, '1', 2, 1), 0, 0],
    ['M-07 not with priority 2', marked(2, '2', 0, 1), 0, 0],
    ['M-07 not without the time of the last scaling', marked(2, '1', 0, undefined), 0, 0],
    [
      'M-08 a handed-over machine counts',
      snapshot(3, [machine('a', { phase: 'Running' }), machine('b', { phase: 'Running', ...handedOver })]),
      1,
      0,
    ],
    [
      'M-09 a handed-over machine is a replica',
      snapshot(3, [...machinesOf(2, 'Running'), machine('b', { phase: 'Running', ...handedOver })]),
      0,
      0,
    ],
    [
      'M-10 a handed-over machine is never deleted',
      snapshot(3, [...machinesOf(4, 'Running'), machine('b', { phase: 'Running', ...handedOver })]),
      0,
      1,
    ],
    [
      'M-12 missing machines are created before failed ones are deleted',
      snapshot(3, [machine('a', { phase: 'Running' }), machine('f', { phase: 'Failed' })]),
      1,
      0,
    ],
    [
      'M-14 a frozen set still shrinks',
      snapshot(1, machinesOf(3, 'Running'), { set: set('ms', 1, { labels: { freeze: 'True' } }) }),
      0,
      2,
    ],
    ['F a frozen set does not grow', snapshot(3, [], { set: set('ms', 3, { labels: { freeze: 'True' } }) }), 0, 0],
    [
      'an old set of an in-place update does not grow',
      snapshot(3, [], { set: set('ms', 3, { labels: { [Labels.ScaleUpDisabled]: '' } }) }),
      0,
      0,
    ],
    ['M-15 at most a hundred are deleted at a time', snapshot(0, machinesOf(150, 'Running')), 0, 100],
    ['at most a hundred are created at a time', snapshot(250, []), 100, 0],
    [
      'at most a hundred failed and surplus machines are deleted at a time',
      snapshot(150, [...machinesOf(150, 'Running'), ...machinesOf(150, 'Failed', 'f')], {
        set: set('ms', 220),
      }),
      0,
      100,
    ],
    ['no machine is created for a deleted class', snapshot(3, machinesOf(2, 'Running'), { lacksClass: true }), 0, 0],
    ['nor replaced', snapshot(1, machinesOf(1, 'Failed'), { lacksClass: true }), 0, 0],
    [
      'a machine whose deletion was requested is replaced',
      snapshot(2, [...machinesOf(1, 'Running'), machine('d', { phase: 'Running', deleting: true })]),
      1,
      0,
    ],
    [
      'a Terminating machine is replaced',
      snapshot(2, [...machinesOf(1, 'Running'), machine('d', { phase: 'Terminating' })]),
      1,
      0,
    ],
    [
      'a Failed machine that is preserved stays',
      snapshot(2, [...machinesOf(1, 'Running'), machine('f', { phase: 'Failed', preservedUntil: 60 })]),
      0,
      0,
    ],
    [
      'A-08 a preservation that has ended has no effect',
      snapshot(1, [machine('f', { phase: 'Failed', preservedUntil: -1 })]),
      0,
      1,
    ],
    [
      'A-11 a Failed machine with a request to preserve it stays',
      snapshot(1, [machine('f', { phase: 'Failed', preserve: 'now' })]),
      0,
      0,
    ],
    [
      'ODD-11 also if its node is deleted',
      snapshot(1, [machine('f', { phase: 'Failed', preserve: 'when-failed', labels: { node: 'gone' } })]),
      0,
      0,
    ],
    [
      'A-14 also if it never had a node',
      snapshot(1, [machine('f', { phase: 'Failed', preserve: 'auto-preserved' })]),
      0,
      0,
    ],
    [
      'a Failed machine whose Node cannot be read stays: the Node may request it',
      snapshot(1, [machine('f', { phase: 'Failed', labels: { node: 'n' } })], { nodeAnnotations: () => 'unseen' }),
      0,
      0,
    ],
    [
      'the value false is not a request to preserve it',
      snapshot(1, [machine('f', { phase: 'Failed', preserve: 'false' })]),
      0,
      1,
    ],
  ])('%s', (_title, given, create, toDelete) => {
    const plan = planReplicas(given);
    expect([plan.create, plan.toDelete.length]).toEqual([create, toDelete]);
    expect(plan.toDelete.some((m) => m.metadata.labels?.[Labels.UpdateResult])).toBe(false);
  });

  test.each<[title: string, given: SetSnapshot, toDelete: readonly string[]]>([
    ['is the surplus before it is marked', listed(1, { a: 0 }, {}), ['a']],
    ['is the surplus, also without a time', listed(1, { a: undefined }, {}), ['a']],
    ['deletes nothing without a surplus', listed(2, { a: 0 }, {}), []],
    ['is deleted without a surplus, if a scale-down covers its mark', listed(2, { a: 0 }, { marked: 0 }), ['a']],
    ['stays if its entry is later than the scale-down', listed(2, { a: 2 }, { marked: 0 }), []],
    ['stays if it has no time yet', listed(2, { a: undefined }, { marked: 0 }), []],
    ['stays while the replicas will be reduced', listed(2, { a: 0 }, { marked: 0 }, true), []],
    ['stays if it was removed from the list', listed(2, {}, { marked: 0 }), []],
    ['is the surplus together with another one', listed(0, { a: 0 }, {}), ['a', 'b']],
  ])('a machine on the list %s', (_title, given, toDelete) => {
    const plan = planReplicas(given);
    expect([plan.create, plan.toDelete.map(({ metadata }) => metadata.name)]).toEqual([0, toDelete]);
  });

  test('a named machine that the scale-down covers is the surplus, so the next one on the list stays', () => {
    const base = listed(2, { a: 0, b: undefined }, { marked: 0 });
    const plan = planReplicas({ ...base, machines: [...base.machines, machine('c', { phase: 'Running' })] });
    expect(plan.toDelete.map(({ metadata }) => metadata.name)).toEqual(['a']);
  });

  test('a plan without actions gives the reason', () => {
    expect(planReplicas(snapshot(1, machinesOf(1, 'Running'))).because).toBe('the MachineSet has all its replicas');
    const full = planReplicas(snapshot(2, machinesOf(1, 'Running'), { room: 0 }));
    expect(full).toMatchObject({
      create: 0,
      because: expect.stringContaining('1 machine missing, but terminating machines'),
    });
  });

  test('a deletion that the cache does not show yet is not replaced by another one [BUG-3]', () => {
    const machines = machinesOf(3, 'Running');
    const first = planReplicas(snapshot(2, machines));
    const deleting = new Map(first.toDelete.map(({ metadata }) => [metadata.uid, 'asked' as const]));
    const worse = machines.map((m, i) => (i === 2 ? machine('m2', { phase: 'Unknown' }) : m));
    expect(planReplicas(snapshot(2, worse, { deleting })).toDelete).toEqual([]);
  });

  test('no machine is created for a machine whose deletion got no answer', () => {
    const machines = machinesOf(2, 'Running');
    const state = (deletion: DeletionState) => snapshot(2, machines, { deleting: new Map([['uid-m0', deletion]]) });
    expect(planReplicas(state('unanswered'))).toMatchObject({ create: 0, toDelete: [] });
    expect(planReplicas(state('asked'))).toMatchObject({ create: 1, toDelete: [] });
  });

  test('a plan creates at most the missing machines, never creates and deletes together, and stays within the burst', () => {
    const phase = fc.constantFrom('Running', 'Failed', 'Terminating', 'Pending', 'Unknown', undefined);
    fc.assert(
      fc.property(
        fc.nat(300),
        fc.array(phase, { maxLength: 300 }),
        fc.func(fc.boolean()),
        (replicas, phases, isDeleting) => {
          const machines = phases.map((p, i) => machine(`m${i}`, { phase: p as never }));
          const deleting = new Map(
            machines.filter((m) => isDeleting(m.metadata.uid)).map((m) => [m.metadata.uid, 'asked' as const]),
          );
          const given = snapshot(replicas, machines, { deleting });
          const alive = machines.filter(
            (m) => m.status?.currentStatus?.phase !== 'Terminating' && !deleting.has(m.metadata.uid),
          );
          const plan = planReplicas(given);
          expect(plan.create).toBe(Math.min(Math.max(replicas - alive.length, 0), BURST));
          expect(plan.create > 0 && plan.toDelete.length > 0).toBe(false);
          expect(plan.toDelete.length).toBeLessThanOrEqual(BURST);
          expect(plan.toDelete.every((m) => alive.includes(m))).toBe(true);
          expect(new Set(plan.toDelete).size).toBe(plan.toDelete.length);
        },
      ),
    );
  });
});

describe('deletion order', () => {
  const order = (...machines: Machine[]) =>
    chooseForDeletion([...machines, machine('last', { phase: 'Running', priority: '99' })], machines.length, NOW).map(
      (m) => m.metadata.name,
    );

  test('machines are deleted by priority, then by mark, then by phase [M-20]', () => {
    const given = [
      machine('m5', { phase: 'Running', priority: '3' }),
      machine('m4', { phase: 'Running', priority: '3', marked: 1 }),
      machine('m3', { phase: 'Failed', priority: '3', marked: 1 }),
      machine('m2', { phase: 'Running', priority: '3', marked: 0 }),
      machine('m1', { phase: 'Running', priority: '1' }),
    ];
    expect(chooseForDeletion(given, 4, NOW).map((m) => m.metadata.name)).toEqual(['m1', 'm2', 'm3', 'm4']);
  });
  test('a preserved machine is deleted last [M-21]', () => {
    const given = [
      machine('preserved', { phase: 'Failed', preservedUntil: 60 }),
      machine('running', { phase: 'Running' }),
    ];
    expect(chooseForDeletion(given, 1, NOW).map((m) => m.metadata.name)).toEqual(['running']);
    expect(chooseForDeletion(given, 2, NOW)).toEqual(given);
  });
  test('machines are deleted by priority before phase [M-22]', () => {
    expect(
      order(
        machine('c', { phase: 'Terminating', priority: '5' }),
        machine('b', { phase: 'Pending' }),
        machine('a', { phase: 'Running', priority: '1' }),
      ),
    ).toEqual(['a', 'b', 'c']);
  });
  test('machines are deleted by phase [M-22]', () => {
    const phases = [
      'Running',
      'Available',
      'InPlaceUpdating',
      'Pending',
      undefined,
      'Unknown',
      'CrashLoopBackOff',
      'Failed',
      'Terminating',
    ] as const;
    expect(order(...phases.map((phase) => machine(`${phase}`, { phase })))).toEqual([
      'Terminating',
      'Failed',
      'CrashLoopBackOff',
      'Unknown',
      'undefined',
      'Pending',
      'InPlaceUpdating',
      'Available',
      'Running',
    ]);
  });
  test('the oldest machine is deleted first, then the first by name [M-22]', () => {
    expect(order(machine('young', { age: 1 }), machine('b', { age: 9 }), machine('a', { age: 9 }))).toEqual([
      'a',
      'b',
      'young',
    ]);
  });
  test('of preserved machines, a Failed machine is deleted before a healthy machine [M-25]', () => {
    expect(
      order(
        machine('c', { phase: 'Running', preservedUntil: 60 }),
        machine('b', { phase: 'Failed', preservedUntil: 60 }),
        machine('a', { phase: 'Failed' }),
      ),
    ).not.toContain('c');
  });
  test('a preserved machine with priority 1 is deleted after a machine with priority 3 [M-26]', () => {
    const given = [machine('kept', { priority: '1', preservedUntil: 60 }), machine('goes', { priority: '3' })];
    expect(chooseForDeletion(given, 1, NOW).map((m) => m.metadata.name)).toEqual(['goes']);
  });
  test('a priority that is not an integer counts as 3 [M-28]', () => {
    expect(
      order(machine('four', { priority: '4' }), machine('abc', { priority: 'abc' }), machine('sp', { priority: ' 2' })),
    ).toEqual(['abc', 'sp', 'four']);
  });
  test('a Failed machine is deleted before one in creation [M-29, ODD-3 corrected]', () => {
    expect(order(machine('new', { phase: undefined }), machine('failed', { phase: 'Failed' }))).toEqual([
      'failed',
      'new',
    ]);
  });
});

describe('slow start', () => {
  const items = Array.from({ length: 100 }, (_, i) => i);
  test('batches double: 1, 2, 4, 8, 16, 32, 37 [M-18]', async () => {
    const running: number[] = [];
    let now = 0;
    await slowStart(items, async () => {
      now++;
      await Promise.resolve();
      if (now > 0) running.push(now);
      now = 0;
    });
    expect(running.filter((n) => n > 0)).toEqual([1, 2, 4, 8, 16, 32, 37]);
  });
  test('a slow start with a first batch of two creates all ten machines [M-18]', async () => {
    expect(await slowStart(items.slice(0, 10), () => Promise.resolve(), { firstBatch: 2 })).toEqual({
      succeeded: 10,
      error: undefined,
      skipped: 0,
    });
    expect(await slowStart(items.slice(0, 10), () => Promise.resolve(), { firstBatch: 0 })).toEqual({
      succeeded: 0,
      error: undefined,
      skipped: 10,
    });
  });
  test('a batch that is no longer needed does not begin', async () => {
    let done = 0;
    const task = async () => {
      done++;
    };
    expect(await slowStart(items, task, { wanted: () => done < 3 })).toEqual({
      succeeded: 3,
      error: undefined,
      skipped: 97,
    });
  });
  test('a refused creation ends a slow start after one call [M-16]', async () => {
    let calls = 0;
    const result = await slowStart(items, async () => {
      calls++;
      throw new Error('quota');
    });
    expect([calls, result.succeeded, result.skipped]).toEqual([1, 0, 99]);
    expect(result.error).toEqual(new Error('quota'));
  });
});

describe('a set whose deployment needs its surplus machines', () => {
  const plan = (spare: number, change: Partial<SetSnapshot> = {}) => {
    const machines = [machine('pending', { phase: 'Pending' }), ...machinesOf(3, 'Running', 'm', { marked: 2 })];
    const { toDelete, waiting, because } = planReplicas(snapshot(0, machines, { spare, ...change }));
    return { names: toDelete.map(({ metadata }) => metadata.name), waiting, because };
  };

  test('machines that are not available are deleted, and needed machines wait', () => {
    expect(plan(1)).toEqual({
      names: ['pending', 'm0'],
      waiting: 2,
      because:
        'of 4 machines: 0 named for deletion, 2 surplus, 0 failed; 2 machines wait, because too few machines of the MachineDeployment are available',
    });
  });

  test('machines that the autoscaler named use the number of spare machines', () => {
    const named = new Map([['m2', undefined]]);
    const { names } = plan(1, { scaler: { named, falling: false } });
    expect(names.toSorted()).toEqual(['m2', 'pending']);
  });

  test.each([
    ['with a high priority', { priority: '4' }],
    ['that is preserved', { preservedUntil: 60 }],
  ])('a machine %s is not deleted instead of an available machine', (_title, kept) => {
    const restored = machine('restored', { phase: 'Pending', ...kept });
    const planOf = (spare: number, others: readonly Machine[]) => {
      const { toDelete, waiting } = planReplicas(snapshot(3, [restored, ...others], { spare }));
      return [toDelete.map(({ metadata }) => metadata.name), waiting];
    };
    const running = machinesOf(3, 'Running', 'm');
    expect(planOf(0, running)).toEqual([[], 1]);
    expect(planOf(1, running)).toEqual([['m0'], undefined]);
    expect(planOf(0, [...machinesOf(2, 'Running', 'm'), machine('new', { phase: 'Pending' })])).toEqual([
      ['new'],
      undefined,
    ]);
  });

  test('a surplus machine with a high priority is deleted if no other machine is left', () => {
    const restored = machine('restored', { phase: 'Pending', priority: '4' });
    expect(planReplicas(snapshot(0, [restored], { spare: 0 })).toDelete).toEqual([restored]);
  });
});
