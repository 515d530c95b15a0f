import type { Machine } from '@mcm/api';
import { expect, test } from 'vitest';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { at, machine, NOON } from '../../machine/testing.ts';
import { findRestore, type RestoreView } from './restore-proof.ts';

/** If a VM was created while no process held the Lease, the VM proves a restore of the API server. */

const TIME = { from: new Date(at(-60)), to: NOON };
const vm = (name: string, minutes: number | undefined, owner = 'own'): ListedInstance => ({
  providerId: `fake-${name}`,
  machineName: name,
  owner,
  ...(minutes === undefined ? {} : { createdAt: at(minutes) }),
});
const lost = vm('lost', -30);
const kept = vm('kept', -20);
const recorder = (minutes: number, providerID = 'fake-kept'): Machine =>
  machine({ name: 'kept', metadata: { creationTimestamp: at(minutes) }, spec: { providerID } });

interface Given extends Partial<RestoreView> {
  readonly recordedBy?: readonly Machine[];
}

const find = ({ recordedBy = [], ...change }: Given) =>
  findRestore({
    times: [TIME],
    vms: change.withoutMachine ?? [lost],
    withoutMachine: [lost],
    recorders: () => recordedBy,
    owner: 'own',
    ...change,
  });

test.each<[what: string, given: Given, proof: ListedInstance | undefined]>([
  ['a VM from that time without a machine', {}, lost],
  ['no time without a holder', { times: [] }, undefined],
  ['a VM from before it', { withoutMachine: [vm('old', -61)] }, undefined],
  ['a VM of a call that the last holder sent', { withoutMachine: [vm('old', -58)] }, undefined],
  ['a VM from just after such a call', { withoutMachine: [vm('new', -57.9)] }, vm('new', -57.9)],
  ['a VM from the end of it', { withoutMachine: [vm('new', 0)] }, vm('new', 0)],
  ['a VM from after it', { withoutMachine: [vm('new', 1)] }, undefined],
  ['a VM of unknown age', { withoutMachine: [vm('new', undefined)] }, undefined],
  ['a VM of another control cluster', { withoutMachine: [vm('new', -30, 'other')] }, undefined],
  [
    'this control cluster is unknown',
    { withoutMachine: [vm('new', -30, 'other')], owner: undefined },
    vm('new', -30, 'other'),
  ],
  [
    'a machine from that time is older than its VM: a controller without leader election ran',
    { vms: [lost, kept], recordedBy: [recorder(-25)] },
    undefined,
  ],
  ['the same, with equal times', { vms: [lost, kept], recordedBy: [recorder(-20)] }, undefined],
  [
    'the machine is younger than its VM, because it was created again',
    { vms: [lost, kept], recordedBy: [recorder(-10)] },
    lost,
  ],
  ['the machine has recorded another VM', { vms: [lost, kept], recordedBy: [recorder(-25, 'fake-9')] }, lost],
  ['one of two machines is older', { vms: [lost, kept], recordedBy: [recorder(-10), recorder(-25)] }, undefined],
  [
    'the machine is older than that time, and so is its VM',
    { vms: [lost, vm('kept', -80)], recordedBy: [recorder(-90)] },
    lost,
  ],
  ['the VM of the older machine has no age', { vms: [lost, vm('kept', undefined)], recordedBy: [recorder(-25)] }, lost],
])('%s', (_what, given, proof) => {
  expect(find(given)).toEqual(proof && { vm: proof, time: TIME });
});

test('the last of several times decides', () => {
  const earlier = { from: new Date(at(-300)), to: new Date(at(-200)) };
  const both = { times: [earlier, TIME], withoutMachine: [vm('first', -250), lost] };
  expect(find(both)).toEqual({ vm: lost, time: TIME });
  expect(find({ ...both, withoutMachine: [vm('first', -250)] })).toEqual({ vm: vm('first', -250), time: earlier });
});
