import type { Machine } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { fixedContext } from './test-caches.ts';
import { machine, set } from './test-objects.ts';
import { setOf, wakeSets } from './wakeups.ts';

const ms = set('ms', 3);
const other = set('other', 1);
const MS = 'test/ms';
const LABELS = { 'machine-template-hash': 'ms' };
const owned = machine('m', { phase: 'Pending', owner: ms, labels: LABELS });
const world = () => fixedContext(wakeSets, { sets: [ms, other], machines: [owned] });

const namedOwner = (name: string, kind = 'MachineSet', uid = ms.metadata.uid): Machine => ({
  ...owned,
  metadata: {
    ...owned.metadata,
    ownerReferences: [{ apiVersion: 'machine.sapcloud.io/v1alpha1', kind, name, uid, controller: true }],
  },
});
const withoutOwner = (labels: Record<string, string> | undefined): Machine => {
  const { ownerReferences: _owners, ...metadata } = owned.metadata;
  return { ...owned, metadata: { ...metadata, labels: { app: 'pool', ...labels } } };
};

describe('machines', () => {
  test.each<[string, Machine, readonly string[]]>([
    ['E-25 owned', owned, [MS]],
    ['E-25 an owned machine that is being deleted', machine('m', { owner: ms, deleting: true }), [MS]],
    ['E-25 its owner does not exist', namedOwner('dummy-one'), []],
    ['an orphan that is selected', withoutOwner(LABELS), [MS]],
    ['an orphan that no set selects', withoutOwner({}), []],
  ])('%s, added', (_title, added, want) => {
    const { machines, woken } = world();
    machines.add(added);
    expect(woken()).toEqual(want);
  });

  test('a change without an effect wakes no set [E-26]', () => {
    const { machines, woken } = world();
    machines.update(owned, owned);
    machines.update(owned, {
      ...owned,
      status: { ...owned.status, lastOperation: { state: 'Processing', description: 'still at it' } },
    });
    expect(woken()).toEqual([]);
  });

  test.each<[string, Machine, readonly string[]]>([
    ['E-27 the phase', { ...owned, status: { currentStatus: { phase: 'Running' } } }, [MS]],
    ['E-27 labels', machine('m', { phase: 'Pending', owner: ms, labels: { ...LABELS, a: 'b' } }), [MS]],
    ['E-27 the owner reference is removed', withoutOwner(LABELS), [MS]],
    ['E-27 the owner is another one', machine('m', { phase: 'Pending', owner: other }), [MS, 'test/other']],
    ['E-27 the owner has another name', namedOwner('renamed'), [MS]],
    ['E-27 the owner has another kind', namedOwner('ms', 'MachineSetDummy'), [MS]],
    ['E-27 the owner does not exist', namedOwner('dummy-one', 'MachineSet', 'uid-dummy'), [MS]],
  ])('%s, changed', (_title, changed, want) => {
    const { machines, woken } = world();
    machines.update(owned, changed);
    expect([...woken()].sort()).toEqual(want);
  });

  test('a deleted machine wakes its set; an orphan wakes none', () => {
    const { machines, woken } = world();
    machines.remove(owned);
    expect(woken()).toEqual([MS]);
    machines.remove(withoutOwner(LABELS));
    expect(woken()).toEqual([]);
  });
});

test('a change of the replicas wakes the set, a status write does not [E-28]', () => {
  const { sets, woken } = world();
  sets.update(ms, { ...ms, spec: { ...ms.spec, replicas: 5 }, metadata: { ...ms.metadata, generation: 2 } });
  expect(woken()).toEqual([MS]);
  sets.update(ms, { ...ms, status: { replicas: 3 } });
  expect(woken()).toEqual([]);
});

test.each<[string, Machine, string | undefined]>([
  ['E-20 owned', owned, ms.metadata.uid],
  ['E-21 the owner is of another kind', namedOwner('ms', 'MachineSetDummy'), undefined],
  ['E-21 the owner has another uid', namedOwner('ms', 'MachineSet', 'other'), undefined],
  ['E-21 no owner', withoutOwner({}), undefined],
])('%s', (_title, child, uid) => {
  const { sets } = world();
  expect(setOf(child, { sets: sets as never })?.metadata.uid).toBe(uid);
});
