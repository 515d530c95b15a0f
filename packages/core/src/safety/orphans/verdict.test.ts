import { expect, test } from 'vitest';
import { at, NOON, node } from '../../machine/testing.ts';
import { isDrained, isQuarantined, isStopped, type OrphanVmInput, orphanVerdict, stopsAfterDrain } from './verdict.ts';

const given: OrphanVmInput = {
  vm: { providerId: 'fake-a', machineName: 'a' },
  use: { use: 'none' },
  view: { machineClass: { metadata: {} } as never, listed: 20, lost: 1, wentBackAt: undefined },
  policy: 'delete',
  admitted: true,
};
const claimed = { use: 'claimed', node: node() } as const;
const unclaimed = { use: 'unclaimed', node: node() } as const;
const lostMany = { ...given.view, lost: 20 };
const KEPT = 'mcm keeps the VM because its';

test.each<[what: string, change: Partial<OrphanVmInput>, starts: string]>([
  ['its kubelet does not report', {}, 'mcm deletes the VM'],
  ['its Node belongs to a machine', { use: claimed }, `${KEPT} Node fakeNode-0 is Ready`],
  ['orphans are only reported', { policy: 'report' }, 'mcm keeps the object because of --orphan-policy=report'],
  ['many lost their machines', { view: lostMany }, 'the VM is in quarantine (20 VMs'],
  [
    'many lost their machines, and the limit is reached',
    { view: lostMany, admitted: false },
    'the VM is in quarantine',
  ],
  [
    'its Node is lost',
    { use: { use: 'unseen' }, heldUntil: new Date(at(60)) },
    'mcm keeps the VM until 2026-01-01T13:00:00.000Z',
  ],
  ['its Node was lost too long ago', { use: { use: 'unseen' }, heldUntil: NOON }, 'mcm deletes the VM'],
  [
    'the limit is reached',
    { admitted: false },
    'the deletion of the VM waits, because the limit of deletions per hour is reached',
  ],
  ['its Node is Ready', { use: unclaimed }, 'mcm drains and then deletes the VM: its Node fakeNode-0'],
  [
    'its Node is Ready, and the limit is reached',
    { use: unclaimed, admitted: false },
    'the deletion of the VM waits, because the limit',
  ],
])('the decision about an orphan VM: %s', (_what, change, starts) => {
  const verdict = orphanVerdict({ ...given, ...change }, NOON);
  expect(verdict.startsWith(starts), verdict).toBe(true);
  expect([isDrained(verdict), isQuarantined(verdict)]).toEqual([
    starts.startsWith('mcm drains'),
    starts.startsWith('the VM is in quarantine'),
  ]);
});

const stop = { forMs: 3_600_000 };
const released = { ...given.view, releasedElsewhere: ['fake-a'] };

test.each<[what: string, change: Partial<OrphanVmInput>, starts: string]>([
  ['it is not stopped yet', { stop }, 'mcm stops the VM, and deletes the VM 1h0m0s later'],
  ['it is stopped', { stop: { ...stop, until: new Date(at(1)) } }, 'mcm has stopped the VM, and deletes the VM at'],
  ['it was stopped for long enough', { stop: { ...stop, until: NOON } }, 'mcm deletes the VM'],
  ['an operator released it', { stop, view: released }, 'mcm deletes the VM'],
  ['an operator released the stopped VM', { stop: { ...stop, until: new Date(at(1)) }, view: released }, 'mcm deletes'],
  ['many lost their machines', { stop, view: lostMany }, 'the VM is in quarantine (20 VMs'],
  ['the limit is reached', { stop, admitted: false }, 'the deletion of the VM waits, because the limit'],
  ['its Node is Ready', { stop, use: unclaimed }, 'mcm drains and then stops the VM: its Node fakeNode-0'],
])('with a stop before the deletion, the decision about an orphan VM: %s', (_what, change, starts) => {
  const verdict = orphanVerdict({ ...given, ...change }, NOON);
  expect(verdict.startsWith(starts), verdict).toBe(true);
  expect([isStopped(verdict), stopsAfterDrain(verdict)]).toEqual([
    starts.startsWith('mcm stops'),
    starts.startsWith('mcm drains and then stops'),
  ]);
});
