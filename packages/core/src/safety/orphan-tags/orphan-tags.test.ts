import type { EventReason, MachineClass } from '@mcm/api';
import { createMemoryLogger, VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { MachineError } from '../../driver/contract/errors.ts';
import type { DriverInvoker } from '../../driver/invoker/api/invoker-api.ts';
import { machineOf } from '../../driver/toy.ts';
import { OrphanTags } from './orphan-tags.ts';

const machineClass: MachineClass = {
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineClass',
  metadata: { name: 'small', namespace: 'default', uid: 'c', resourceVersion: '1', creationTimestamp: '' },
  providerSpec: {},
};
const vms: readonly ListedInstance[] = Array.from({ length: 25 }, (_, i) => ({
  providerId: `toy:///${i}`,
  machineName: `m-${i}`,
}));
const [one] = vms;
const UNTIL = new Date('2026-01-31T12:00:00Z');

function stage(tag: DriverInvoker['tag'], { canTag = true, stopped = false } = {}) {
  const clock = new VirtualClock();
  const log = createMemoryLogger();
  const reported: string[] = [];
  const tags = new OrphanTags({
    enabled: true,
    invoker: { can: { tag: canTag } as DriverInvoker['can'], tag },
    clock,
    log,
    recorder: {
      event: (_object: unknown, _type: string, reason: EventReason) => void reported.push(reason),
      flush: async () => undefined,
    },
    stop: stopped ? AbortSignal.abort() : new AbortController().signal,
    machineOf: (_class, { machineName }) => machineOf(machineName, 'small'),
  });
  const stopAll = () => Promise.all(vms.map((vm) => tags.beforeStop(machineClass, vm, UNTIL)));
  return { clock, log, reported, tags, stopAll };
}

test('after a general error, a search sends no further calls, and no stop fails', async () => {
  let calls = 0;
  const { log, reported, tags, stopAll } = stage(async () => {
    calls++;
    throw new MachineError('PermissionDenied', 'no permission');
  });
  for (const expected of [5, 10]) {
    tags.startSearch(machineClass, vms);
    await stopAll();
    expect(calls).toBe(expected);
  }
  expect(reported).toEqual(['TaggingFailed']);
  expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
});

test('an error of one VM does not delay the calls for other VMs', async () => {
  let calls = 0;
  const { reported, tags, stopAll } = stage(async (machine) => {
    calls++;
    if (machine.metadata.name === 'm-0') throw new MachineError('Internal', 'TagLimitExceeded');
  });
  tags.startSearch(machineClass, vms);
  await stopAll();
  expect([calls, reported]).toEqual([25, ['TaggingFailed']]);
  // When the cloud no longer lists the VM, the failure ends without an event.
  tags.startSearch(machineClass, vms.slice(1));
  tags.startSearch(machineClass, vms);
  await stopAll();
  expect(reported).toEqual(['TaggingFailed', 'TaggingFailed']);
});

test('a VM that no longer exists is not an error', async () => {
  const { reported, stopAll } = stage(() => Promise.reject(new MachineError('NotFound', 'no VM')));
  await stopAll();
  expect(reported).toEqual([]);
});

test('a list that is older than a change causes no second call', async () => {
  let calls = 0;
  const { clock, tags } = stage(async () => void calls++);
  if (!one) throw new Error('no VM');
  const listedAt = clock.now();
  await clock.advance(1_000);
  await tags.beforeStop(machineClass, one, UNTIL);
  tags.show(machineClass, one, { is: 'stopped', until: UNTIL }, listedAt);
  await clock.advance(1_000);
  expect(calls).toBe(1);
  tags.show(machineClass, one, { is: 'stopped', until: UNTIL }, clock.now());
  await clock.advance(1_000);
  expect(calls).toBe(2);
});

test('a process that stops reports no failed call', async () => {
  const { log, reported, stopAll } = stage(() => Promise.reject(new MachineError('Canceled', 'stop')), {
    stopped: true,
  });
  await stopAll();
  expect([reported, log.lines.filter(({ level }) => level === 'warn')]).toEqual([[], []]);
});

test('without the method tag, a stop waits for no tag, and a list needs no tags', () => {
  const { tags } = stage(() => expect.fail('no call'), { canTag: false });
  if (!one) throw new Error('no VM');
  expect([tags.keys, tags.beforeStop(machineClass, one, UNTIL)]).toEqual([undefined, undefined]);
  tags.show(machineClass, one, { is: 'stopped', until: UNTIL }, UNTIL);
});
