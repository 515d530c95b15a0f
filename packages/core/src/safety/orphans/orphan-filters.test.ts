import type { MachineClass } from '@mcm/api';
import { expect, test } from 'vitest';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import type { KeptVm } from '../../evidence/kept-vms.ts';
import { at, NOON } from '../../machine/testing.ts';
import { withoutForeign, withoutKept } from './orphan-filters.ts';

const vm = (name: string, owner?: string): ListedInstance => ({
  providerId: `fake-${name}`,
  machineName: name,
  ...(owner === undefined ? {} : { owner }),
});
const small = (change: Partial<MachineClass['metadata']> = {}) =>
  ({ metadata: { name: 'small', ...change } }) as MachineClass;

test('a VM of another control cluster is kept, and each other cluster is reported once', () => {
  const events: string[] = [];
  const recorder = { event: (...[, type, reason, text]: string[]) => events.push(`${type} ${reason}: ${text}`) };
  const options = { recorder, owner: () => 'own', options: { formerOwners: ['former'] } } as never;
  const reported = new Set<string>();
  const vms = [vm('a'), vm('b', 'own'), vm('c', 'former'), vm('d', 'other'), vm('e', 'other')];
  const filter = (listed: readonly ListedInstance[]) =>
    withoutForeign(options, small(), reported, { startedAt: NOON, vms: listed }).map(({ machineName }) => machineName);
  expect([filter(vms), filter(vms), filter(vms.slice(0, 2))]).toEqual([
    ['a', 'b', 'c'],
    ['a', 'b', 'c'],
    ['a', 'b'],
  ]);
  expect(events).toEqual([
    'Warning ForeignVMs: VMs with the tags of the class, such as fake-d, belong to another control cluster (other), so mcm keeps them. If this cluster replaced the other cluster, add other to --orphan-former-owners',
  ]);
  const unknown = { recorder, options: {} } as never;
  const listing = { startedAt: NOON, vms: [vm('b', 'own'), vm('a')] };
  expect(withoutForeign(unknown, small(), reported, listing)).toEqual([vm('a')]);
});

interface Kept {
  readonly records?: readonly KeptVm[];
  readonly suspects?: readonly string[];
  readonly listed?: readonly string[];
  readonly enabled?: boolean;
  readonly machineClass?: MachineClass;
}

const record = (name: string, minutes: number): KeptVm => ({
  configMap: `kept-vm-${name}`,
  uid: `uid-${name}`,
  machine: name,
  providerID: `fake-${name}`,
  until: new Date(at(minutes)),
});

async function kept({ records = [], suspects = [], listed = suspects, enabled = true, machineClass = small() }: Kept) {
  const calls: string[] = [];
  const keptVms = {
    enabled,
    list: (name: string) => {
      calls.push(`list ${name}`);
      return Promise.resolve(records);
    },
    remove: ({ machine }: KeptVm) => {
      calls.push(`remove ${machine}`);
      return Promise.resolve();
    },
  };
  const listing = { startedAt: NOON, vms: listed.map((name) => vm(name)) };
  const found = await withoutKept(
    { keptVms },
    machineClass,
    suspects.map((name) => vm(name)),
    listing,
    NOON,
  );
  return {
    calls,
    suspects: found.suspects.map(({ machineName }) => machineName),
    released: ['a', 'b'].filter((name) => found.released.has(`fake-${name}`)),
  };
}

test.each<[what: string, given: Kept, suspects: string[], released: string[], removed: string[]]>([
  ['a VM without a record', { suspects: ['a'] }, ['a'], [], []],
  ['a record that is valid', { suspects: ['a', 'b'], records: [record('a', 1)] }, ['b'], [], []],
  ['a record that has just expired', { suspects: ['a'], records: [record('a', 0)] }, ['a'], ['a'], []],
  ['an expired record whose VM was deleted', { records: [record('a', -1)] }, [], ['a'], ['remove a']],
  ['a valid record whose VM was deleted', { records: [record('a', 1)] }, [], [], []],
  [
    'a class that is being deleted keeps none',
    { suspects: ['a'], records: [record('a', 1)], machineClass: small({ deletionTimestamp: at(0) }) },
    ['a'],
    ['a'],
    [],
  ],
  [
    'the setting is off, and an earlier process kept one',
    { suspects: ['a'], records: [record('a', 1)], enabled: false },
    [],
    [],
    [],
  ],
])('kept VMs: %s', async (_what, given, suspects, released, removed) => {
  expect(await kept(given)).toEqual({ suspects, released, calls: ['list small', ...removed] });
});

test('records are read only if there is a suspect, the setting is on, or the class is being deleted', async () => {
  const off = { enabled: false };
  expect((await kept(off)).calls).toEqual([]);
  expect((await kept({})).calls).toEqual(['list small']);
  expect((await kept({ ...off, suspects: ['a'] })).calls).toEqual(['list small']);
  expect((await kept({ ...off, machineClass: small({ deletionTimestamp: at(0) }) })).calls).toEqual(['list small']);
  expect((await kept(off)).released).toEqual([]);
});
