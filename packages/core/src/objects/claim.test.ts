import { formatTime, type Machine } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { newMachine } from '../set/replicas/new-machine.ts';
import { countMachines, setStatus, setStatusDiffers } from '../set/status.ts';
import { machine, NOW, set } from '../set/test-objects.ts';
import { isGoDuration, parseInstant, parseInteger } from '../values/integers.ts';
import { canonicalJson, semanticEqual } from '../values/semantic-equal.ts';
import { adoptionPatch, claim, releasePatch } from './claim.ts';
import { planAutoPreservation } from './preservation.ts';
import { compileSelector, isEmptySelector } from './selector.ts';
import { machineSpecPatch } from './template-sync.ts';

const owner = set('ms', 2, { hash: 'h' });
const labels = { 'machine-template-hash': 'h' };
const matches = compileSelector(owner.spec.selector);
const claimed = (candidates: ReturnType<typeof machine>[], deleting = false) => {
  const { owned, adopt, release } = claim({ uid: owner.metadata.uid, deleting }, matches, candidates);
  return [owned, adopt, release].map((list) => list.map((m) => m.metadata.name).join());
};

describe('claiming', () => {
  test.each<[string, ReturnType<typeof machine>[], boolean, string[]]>([
    ['G-05 controlled and selected', [machine('a', { owner, labels })], false, ['a', '', '']],
    ['G-05 neither', [machine('a')], false, ['', '', '']],
    ['G-08 controlled by another owner', [machine('a', { owner: set('other', 1), labels })], false, ['', '', '']],
    [
      'G-08 controlled by an owner with the same name and another UID',
      [machine('a', { owner: { ...owner, metadata: { ...owner.metadata, uid: 'x' } }, labels })],
      false,
      ['', '', ''],
    ],
    ['an orphan that is selected', [machine('a', { labels })], false, ['', 'a', '']],
    ['G-08 an orphan that is being deleted', [machine('a', { labels, deleting: true })], false, ['', '', '']],
    ['an orphan, while the owner is being deleted', [machine('a', { labels })], true, ['', '', '']],
    ['controlled and no longer selected', [machine('a', { owner })], false, ['', '', 'a']],
    [
      'G-08 controlled and no longer selected, while the owner is being deleted',
      [machine('a', { owner })],
      true,
      ['', '', ''],
    ],
  ])('%s', (_title, candidates, deleting, want) => expect(claimed(candidates, deleting)).toEqual(want));

  test('other owners of an object stay, in both directions', () => {
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'u' };
    const child = machine('a');
    child.metadata.ownerReferences = [other];
    const adopted = adoptionPatch(owner, child).metadata.ownerReferences;
    expect(adopted.map(({ uid }) => uid)).toEqual(['u', owner.metadata.uid]);
    child.metadata.ownerReferences = adopted;
    expect(releasePatch(owner.metadata.uid, child).metadata.ownerReferences).toEqual([other]);
  });
});

describe('selectors', () => {
  test('an empty selector in any form selects nothing [ODD-16]', () => {
    for (const empty of [undefined, {}, { matchLabels: {} }, { matchLabels: {}, matchExpressions: [] }]) {
      expect([isEmptySelector(empty), compileSelector(empty)({ a: 'b' })]).toEqual([true, false]);
    }
  });
  test.each([
    [{ key: 'a', operator: 'In' as const, values: ['1', '2'] }, [true, false, false]],
    [{ key: 'a', operator: 'NotIn' as const, values: ['1'] }, [false, true, true]],
    [{ key: 'a', operator: 'Exists' as const }, [true, true, false]],
    [{ key: 'a', operator: 'DoesNotExist' as const }, [false, false, true]],
  ])('%o', (requirement, want) => {
    const holds = compileSelector({ matchExpressions: [requirement] });
    expect([{ a: '1' }, { a: '3' }, {}].map((given) => holds(given as Record<string, string>))).toEqual(want);
  });
});

describe('equality', () => {
  test.each([
    [{ a: 1 }, { a: 1, b: {}, c: [], d: '', e: null, f: 0, g: false }, true],
    [{ metadata: { labels: { gen: '1' } } }, { metadata: { labels: { gen: '1' } }, spec: {} }, true],
    [{ a: ['x', 'y'] }, { a: ['y', 'x'] }, false],
    [{ a: '1' }, { a: 1 }, false],
    [undefined, { a: { b: {} } }, true],
    [{ labels: { role: '' } }, { labels: {} }, false],
    [{ labels: { role: '' } }, undefined, false],
    [{ labels: { a: '', b: '1' } }, { labels: { b: '1', a: '' } }, true],
    [{ metadata: { annotations: {} } }, { metadata: {} }, true],
    [{ labels: { labels: '' } }, { labels: { annotations: '' } }, false],
    [{ maxEvictRetries: 0 }, {}, false],
    [{ maxEvictRetries: null }, {}, true],
  ])('%j and %j: %s', (a, b, same) => {
    expect([semanticEqual(a, b), semanticEqual(b, a)]).toEqual([same, same]);
    if (same && a !== undefined) expect(canonicalJson(a)).toBe(canonicalJson(b));
  });
});

describe('texts', () => {
  test('integers are complete or refused', () => {
    expect(['3', '+3', '-3', '3a', ' 3', '3.0', '', undefined].map(parseInteger)).toEqual([
      3,
      3,
      -3,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
  test('times are RFC 3339 or refused', () => {
    expect(['2026-01-01T12:00:00Z', '2026-01-01T13:00:00+01:00'].map(parseInstant)).toEqual([
      NOW.getTime(),
      NOW.getTime(),
    ]);
    expect(['2026-01-01', 'yesterday', '', '2026-13-01T00:00:00Z'].map(parseInstant)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
  test('only durations in the format of Go are accepted', () =>
    expect(['30m', '1h15m', '1.5h', 'abc', '30', ''].map(isGoDuration)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]));
});

describe('new machines', () => {
  const forced = (timeout: string) => {
    const base = set('ms', 1, { annotations: { 'node.machine.sapcloud.io/effective-creation-timeout': timeout } });
    return newMachine(
      {
        ...base,
        spec: {
          ...base.spec,
          template: { ...base.spec.template, spec: { ...base.spec.template.spec, creationTimeout: '20m' } },
        },
      },
      'ms-x',
    );
  };
  test('the operator’s creation timeout takes precedence, if it is valid [V-10]', () => {
    expect([forced('30m').spec.creationTimeout, forced('abc').spec.creationTimeout]).toEqual(['30m', '20m']);
    expect(forced('30m').metadata.annotations).toMatchObject({
      'node.machine.sapcloud.io/effective-creation-timeout': '30m',
    });
  });
  test('new machines are created complete', () => {
    expect(newMachine(owner, 'ms-x').metadata).toMatchObject({
      labels: owner.spec.template.metadata?.labels,
      annotations: { 'machinepriority.machine.sapcloud.io': '3' },
      finalizers: ['machine.sapcloud.io/machine-controller-manager'],
      ownerReferences: [
        { kind: 'MachineSet', name: 'ms', uid: owner.metadata.uid, controller: true, blockOwnerDeletion: true },
      ],
    });
  });
});

describe('template sync', () => {
  const template = {
    class: { kind: 'MachineClass', name: 'small' },
    drainTimeout: '1h',
    nodeTemplate: { metadata: { labels: { gen: '2' } } },
  };
  const patch = (m: ReturnType<typeof machine>) => machineSpecPatch(template, m, { ownCreationTimeout: false });
  test('a patch contains exactly the differences', () => {
    const given = machine('m', { phase: 'Running' });
    given.spec = { ...given.spec, healthTimeout: '5m', nodeTemplate: { metadata: { labels: { gen: '1', old: 'x' } } } };
    expect(patch(given)).toEqual({
      drainTimeout: '1h',
      healthTimeout: null,
      nodeTemplate: { metadata: { labels: { gen: '2', old: null } } },
    });
    given.spec = { ...template };
    expect(patch(given)).toBeUndefined();
  });
  test('inactive machines get the class kind only', () => {
    const failed = machine('m', { phase: 'Failed' });
    failed.spec = { class: { kind: 'Other', name: 'small' } };
    expect(patch(failed)).toEqual({ class: { kind: 'MachineClass' } });
  });
  test('an effective creation timeout from the annotation stays', () => {
    const given = machine('m', { phase: 'Running' });
    given.spec = { ...template, creationTimeout: '30m' };
    expect(machineSpecPatch(template, given, { ownCreationTimeout: true })).toBeUndefined();
    expect(machineSpecPatch(template, given, { ownCreationTimeout: false })).toEqual({ creationTimeout: null });
  });
});

describe('status', () => {
  test('available, ready and failed machines are counted by their phase [V-05]', () => {
    const machines = (['Running', 'Available', 'Pending', 'Terminating'] as const).map((phase) =>
      machine(phase, { phase, labels }),
    );
    expect(countMachines(owner, machines)).toMatchObject({ replicas: 4, available: 2, ready: 1, fullyLabeled: 4 });
  });
  test('a preserved failed machine is not among the failed ones [V-04]', () => {
    const failed = machine('f', { phase: 'Failed', preservedUntil: 60 });
    failed.status = { ...failed.status, lastOperation: { state: 'Failed' } };
    expect(countMachines(owner, [failed])).toMatchObject({ preservedFailed: 1, failed: [] });
  });
  test('a failed operation is listed in any phase [V-06]', () => {
    const crashing = machine('c', { phase: 'CrashLoopBackOff', owner });
    crashing.status = { ...crashing.status, lastOperation: { state: 'Failed', description: 'x' } };
    expect(countMachines(owner, [crashing]).failed).toEqual([
      { name: 'c', ownerRef: 'ms', lastOperation: { state: 'Failed', description: 'x' } },
    ]);
  });
  test('the reason of a failure is the failed operation; a new time alone is no difference [ODD-4]', () => {
    const counts = countMachines(owner, []);
    const failing = setStatus(owner, counts, { during: 'create', message: 'quota' }, NOW);
    expect(failing.machineSetCondition).toMatchObject([
      { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'quota' },
    ]);
    const later = setStatus(
      { ...owner, status: failing },
      counts,
      { during: 'create', message: 'quota again' },
      new Date(NOW.getTime() + 60_000),
    );
    expect(setStatusDiffers(failing, later)).toBe(false);
    expect(setStatus({ ...owner, status: failing }, counts, undefined, NOW).machineSetCondition).toEqual([]);
  });
});

describe('automatic preservation', () => {
  const four = [
    machine('m1', { phase: 'Failed', age: 120 }),
    machine('m2', { phase: 'Failed', age: 60 }),
    machine('m3', { phase: 'Running' }),
    machine('m4', { phase: 'Failed', preserve: 'false' }),
  ];
  const kept = (name: string, age: number) => machine(name, { phase: 'Failed', preserve: 'auto-preserved', age });
  const plan = (machines: ReturnType<typeof machine>[], max: number) => {
    const { preserve, stop } = planAutoPreservation(machines, max, NOW);
    return [preserve, stop].map((list) => list.map((m) => m.metadata.name).join());
  };
  test.each([
    ['A-01 the newest machines', four, 1, ['m2', '']],
    [
      'A-01 the newest machines, with any names',
      [machine('a', { phase: 'Failed', age: 1 }), machine('b', { phase: 'Failed', age: 2 })],
      1,
      ['a', ''],
    ],
    ['A-02 none', four, 0, ['', '']],
    [
      'one that is being deleted is not',
      [machine('d', { phase: 'Failed', deleting: true }), four[1] as Machine],
      2,
      ['m2', ''],
    ],
    ['A-04 both', four, 2, ['m2,m1', '']],
    ['A-06 too many', [...four, kept('m5', 1)], 0, ['', 'm5']],
    ['A-07 the oldest machines lose the annotation', [kept('a', 180), kept('b', 120), kept('c', 60)], 1, ['', 'a,b']],
  ])('%s', (_title, machines, max, want) => expect(plan(machines, max)).toEqual(want));

  test('a machine whose preservation has expired is not preserved again for the same failure', () => {
    const at = (seconds: number) => formatTime(new Date(NOW.getTime() + seconds * 1_000));
    const failed = (failedAt: number, changedAt: number): Machine => {
      const one = machine('m', { phase: 'Failed' });
      const currentStatus = { ...one.status?.currentStatus, lastUpdateTime: at(changedAt) };
      return { ...one, status: { currentStatus, lastOperation: { lastUpdateTime: at(failedAt) } } };
    };
    expect(plan([machine('m', { phase: 'Failed', preservedUntil: -1 })], 1)[0]).toBe('');
    expect(plan([machine('m', { phase: 'Failed', preservedUntil: 0 })], 1)[0]).toBe('');
    expect(plan([machine('m', { phase: 'Failed', preservedUntil: 1 })], 1)[0]).toBe('m');
    const untold = machine('m', { phase: 'Failed' });
    const lastUpdateTime = at(-60);
    const changed = { currentStatus: { ...untold.status?.currentStatus, lastUpdateTime } };
    expect(plan([{ ...untold, status: changed }], 1)[0]).toBe('m');
    expect(plan([{ ...untold, status: { ...untold.status, lastOperation: { lastUpdateTime } } }], 1)[0]).toBe('m');
    expect(plan([failed(-600, -60)], 1)[0]).toBe('');
    expect(plan([failed(-60, -60)], 1)[0]).toBe('m');
    expect(plan([failed(-62, -60)], 1)[0]).toBe('m');
    expect(plan([failed(-63, -60)], 1)[0]).toBe('');
  });

  test('during a rollout each set has the whole maximum, as in the original [ODD-10]', () => {
    const failed = (name: string) => machine(name, { phase: 'Failed' });
    const sets = [
      [kept('old-1', 60), failed('old-2')],
      [failed('new-1'), failed('new-2')],
    ];
    expect(sets.map((machines) => plan(machines, 1)[0])).toEqual(['', 'new-2']);
    expect(sets.map((machines) => plan(machines, 2)[0])).toEqual(['old-2', 'new-2,new-1']);
  });
});
