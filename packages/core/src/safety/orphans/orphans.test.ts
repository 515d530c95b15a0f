import { Annotations, type MachineClass } from '@mcm/api';
import { expect, test } from 'vitest';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { at, machine, NOON, node } from '../../machine/testing.ts';
import { planNodeMark } from './orphan-nodes.ts';
import { confirmOrphans, isForeign, isOrphan, machineOfOrphanVm } from './orphan-vms.ts';
import { orphanKeysOf } from './orphans.ts';

const vm: ListedInstance = { providerId: 'testmachine-ip1', machineName: 'testmachine_1' };
const minute = 60_000;

test.each([
  ['S-O6 Z-07 no machine', undefined, true],
  ['S-O7 Z-07 CrashLoopBackOff', machine({ status: { currentStatus: { phase: 'CrashLoopBackOff' } } }), false],
  ['no phase yet', machine(), false],
  [
    'S-O9 its own VM',
    machine({ spec: { providerID: 'testmachine-ip1' }, status: { currentStatus: { phase: 'Running' } } }),
    false,
  ],
  [
    'Z-07 another VM is on record',
    machine({ spec: { providerID: 'other' }, status: { currentStatus: { phase: 'Running' } } }),
    true,
  ],
  ['Failed without a VM on record', machine({ status: { currentStatus: { phase: 'Failed' } } }), true],
  [
    'being deleted: it deletes its VM itself',
    machine({ metadata: { deletionTimestamp: at(0) }, status: { currentStatus: { phase: 'Terminating' } } }),
    false,
  ],
])('%s', (_row, owner, orphan) => {
  expect(isOrphan(vm, owner)).toBe(orphan);
});

test('a VM that a machine of another name has on record is no orphan', () => {
  const recorder = machine({ name: 'another', spec: { providerID: vm.providerId } });
  expect(isOrphan(vm, undefined, [recorder])).toBe(false);
  expect(isOrphan(vm, undefined, [machine({ name: 'another', spec: { providerID: 'other' } })])).toBe(true);
});

test.each([
  ['AWS', 'aws:///eu-west-1a/i-1', 'aws:///eu-west-1/i-1', 'aws:///eu-west-1/i-2'],
  ['Azure', 'azure:///subscriptions/s/virtualMachines/VM-1', 'azure:///westeurope/vm-1', 'azure:///westeurope/vm-2'],
  ['Google Cloud', 'gce://project/zone/vm-1', 'gce:///project/zone/vm-1', 'gce:///project/zone/vm-2'],
])('a VM that a machine records with the ID of the cloud controller of %s is no orphan', (_cloud, id, own, other) => {
  const recorder = machine({ spec: { providerID: id }, status: { currentStatus: { phase: 'Running' } } });
  const orphan = (providerId: string) => [
    isOrphan({ ...vm, providerId }, recorder),
    isOrphan({ ...vm, providerId }, undefined, [recorder]),
  ];
  expect([orphan(own), orphan(other)]).toEqual([
    [false, false],
    [true, true],
  ]);
});

test('suspects are confirmed at their time, and the next pass is when the first of the others is due', () => {
  const [one, two] = ['testmachine-ip2', 'testmachine-ip3'].map((providerId) => ({ ...vm, providerId }));
  if (!one || !two) throw new Error('two VMs');
  const seen = new Map(
    [vm, one, two].map(({ providerId }, index) => [providerId, new Date(at([-5, -1, -3][index] ?? 0))]),
  );
  expect(confirmOrphans([vm], seen, NOON, 5 * minute)).toEqual({ confirmed: [vm] });
  expect(confirmOrphans([vm, one, two], seen, NOON, 5 * minute)).toEqual({
    confirmed: [vm],
    nextAt: new Date(at(2)),
  });
});

test('a VM is no orphan at first sight, nor a young one [incident 15]', () => {
  const seen = new Map([[vm.providerId, new Date(at(-5))]]);
  expect(confirmOrphans([vm], new Map(), NOON, 5 * minute)).toEqual({ confirmed: [], nextAt: new Date(at(5)) });
  expect(confirmOrphans([vm], seen, NOON, 5 * minute).confirmed).toEqual([vm]);
  const young = { ...vm, createdAt: at(-4) };
  expect(confirmOrphans([young], seen, NOON, 5 * minute)).toEqual({ confirmed: [], nextAt: new Date(at(1)) });
});

const held = { finalizers: ['node.machine.sapcloud.io/machine-controller'] };
const marked = { annotations: { [Annotations.NotManagedByMCM]: '1' } };

test.each<[row: string, metadata: object, age: number, owners: number, patch: object | undefined]>([
  [
    'S-O10 Z-08 21 min old, no machine',
    {},
    21,
    0,
    { metadata: { annotations: { [Annotations.NotManagedByMCM]: '1' } } },
  ],
  [
    'S-O10 Z-09 the same with the finalizer of mcm',
    held,
    21,
    0,
    {
      metadata: {
        annotations: { [Annotations.NotManagedByMCM]: '1' },
        finalizers: [],
      },
    },
  ],
  [
    'a finalizer of another client stays',
    { finalizers: ['other.example/guard', ...held.finalizers] },
    20,
    0,
    {
      metadata: {
        annotations: { [Annotations.NotManagedByMCM]: '1' },
        finalizers: ['other.example/guard'],
      },
    },
  ],
  ['two machines, not marked yet', held, 21, 2, undefined],
  ['S-O11 Z-08 19 min old, no machine', {}, 19, 0, undefined],
  [
    'S-O14 Z-09 marked, one machine',
    marked,
    21,
    1,
    { metadata: { annotations: { [Annotations.NotManagedByMCM]: null } } },
  ],
  ['not marked, one machine', held, 21, 1, undefined],
  [
    'marked, and its finalizer is left from a failed write',
    { ...marked, ...held },
    21,
    0,
    { metadata: { annotations: undefined, finalizers: [] } },
  ],
  ['S-O15 two machines', marked, 21, 2, undefined],
  ['Z-08 already marked', marked, 21, 0, undefined],
])('%s', (_row, metadata, age, owners, patch) => {
  const n = node({ metadata: { ...metadata, creationTimestamp: at(-age) } });
  expect(planNodeMark(n, owners, NOON, 20 * minute)).toEqual(patch);
  const { creationTimestamp: _, ...ageless } = n.metadata;
  if (owners === 0) expect(planNodeMark({ ...n, metadata: ageless as never }, 0, NOON, 20 * minute)).toBeUndefined();
});

test('a deletion, and a cloud that finds several VMs, start a search for orphans of the class [Z-10]', () => {
  const reported = (description: string) =>
    machine({ metadata: { namespace: 'a' }, status: { lastOperation: { description } } });
  const keys = (before: string, after: string) =>
    orphanKeysOf({ type: 'updated', key: 'a/b', old: reported(before), object: reported(after) });
  const { name } = machine().spec.class;
  expect(keys('', 'code = [OutOfRange]')).toEqual([`a/${name}`]);
  expect([keys('', 'code = [NotFound]'), keys('code = [OutOfRange]', '')]).toEqual([[], []]);
  expect(orphanKeysOf({ type: 'deleted', key: 'a/b', object: reported('') })).toContain(`a/${name}`);
});

test.each<[what: string, mark: string | undefined, own: string | undefined, foreign: boolean]>([
  ['without a tag', undefined, 'own', false],
  ['without a tag, if this control cluster is unknown', undefined, undefined, false],
  ['of ours', 'own', 'own', false],
  ['of a control cluster that this one replaces', 'former', 'own', false],
  ['of another', 'other', 'own', true],
  ['of another one, if this control cluster is unknown', 'other', undefined, true],
])('a VM %s: the owner decides whether it is kept for another control cluster', (_what, owner, own, foreign) => {
  expect(isForeign({ ...vm, ...(owner === undefined ? {} : { owner }) }, { own, former: ['former'] })).toBe(foreign);
});

test.each([
  ['with a namespace', { namespace: 'test' }],
  ['without one', {}],
])('the request to delete an orphan contains its provider ID and a UID of no VM: a class %s', (_what, where) => {
  const metadata = { name: 'small', uid: 'uid-small', resourceVersion: '1', creationTimestamp: at(-60), ...where };
  const machineClass: MachineClass = {
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'MachineClass',
    metadata,
    providerSpec: {},
  };
  expect(machineOfOrphanVm({ ...vm, machineClass }, NOON)).toEqual({
    apiVersion: 'machine.sapcloud.io/v1alpha1',
    kind: 'Machine',
    metadata: {
      name: 'testmachine_1',
      ...where,
      uid: 'orphan-testmachine-ip1',
      resourceVersion: '',
      creationTimestamp: NOON.toISOString(),
    },
    spec: { class: { kind: 'MachineClass', name: 'small' }, providerID: 'testmachine-ip1' },
  });
  expect(machineOfOrphanVm({ ...vm, machineClass }, NOON).metadata).not.toHaveProperty('namespace', undefined);
});
