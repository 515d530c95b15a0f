import { Annotations, crds, machines } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import {
  type EventObject,
  events,
  nodes,
  podDisruptionBudgets,
  pods,
  seededRandom,
  type VirtualClock,
} from '@mcm/kube';
import { thoroughly } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import type { InterruptionNotice } from '../driver/contract/driver.ts';
import { readEvidence } from '../evidence/read.ts';
import type { NoticeOutcome } from '../interruption/watcher.ts';
import { runWithCrashes } from './testing/crash-runs.ts';
import { NAMESPACE, type Rig, type RigOptions } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

async function started(
  options: Partial<RigOptions> = {},
): Promise<{ readonly rig: Rig; readonly outcomes: NoticeOutcome[] }> {
  const outcomes: NoticeOutcome[] = [];
  const { rig } = await createRig({
    ...options,
    cloud: { announces: true, console: () => 'the console', ...options.cloud },
    controller: { interruptions: { observe: (_, outcome) => outcomes.push(outcome) }, ...options.controller },
  });
  await rig.createClass();
  rig.start();
  return { rig, outcomes };
}

const runs = (rig: Rig, name: string) => rig.until(async () => (await rig.phase(name)) === 'Running');

const noticeOf = (rig: Rig, change: Partial<InterruptionNotice> = {}): InterruptionNotice => ({
  id: 'n-1',
  providerId: rig.cloud.vms[0]?.providerId ?? '',
  kind: 'Terminate',
  noticedAt: rig.clock.now().toISOString(),
  deadline: new Date(rig.clock.now().getTime() + 120_000).toISOString(),
  detail: 'the cloud needs the capacity',
  ...change,
});

test('a machine with a notice of 120 s is gone before the deadline, and its evidence is kept', async () => {
  const { rig, outcomes } = await started();
  await rig.createMachine('m-0');
  await runs(rig, 'm-0');
  rig.cloud.announce(noticeOf(rig), noticeOf(rig));
  expect(await rig.until(async () => (await rig.machines()).length === 0)).toBeLessThan(120_000);
  expect(rig.cloud.vms).toEqual([]);
  expect(rig.cloud.notices).toEqual([]);
  expect(outcomes).toEqual(['recorded', 'duplicate']);
  expect((await readEvidence(rig.admin, NAMESPACE, 'm-0'))[0]).toMatchObject({ console: 'the console' });
});

test('without --interruptions no notice is taken', async () => {
  const { rig } = await started({ controller: { interruptions: undefined } });
  await rig.createMachine('m-0');
  await runs(rig, 'm-0');
  rig.cloud.announce(noticeOf(rig));
  await rig.clock.advance(600_000);
  expect(rig.cloud.calls.watchInterruptions).toBe(0);
  expect(await rig.phase('m-0')).toBe('Running');
});

test('notices about VMs of others, of earlier VMs and of running VMs change nothing', async () => {
  const { rig, outcomes } = await started();
  await rig.clock.advance(3_600_000);
  await rig.createMachine('m-0');
  await runs(rig, 'm-0');
  const before = new Date(rig.clock.now().getTime() - 600_000).toISOString();
  rig.cloud.announce(
    noticeOf(rig, { providerId: 'fake:///zone/vm-77', noticedAt: before }),
    noticeOf(rig, { id: 'n-2', noticedAt: before, deadline: before }),
    noticeOf(rig, { id: 'n-3', kind: 'Ended' }),
    noticeOf(rig, { id: 'n-4', kind: 'Rebalance' }),
    noticeOf(rig, { id: 'n-5', deadline: 'soon' }),
  );
  await rig.clock.advance(600_000);
  expect(outcomes).toEqual(['unknown', 'stale', 'stale', 'reported', 'invalid']);
  expect(rig.cloud.notices).toEqual([]);
  expect(await rig.phase('m-0')).toBe('Running');
  expect((await rig.machine('m-0'))?.metadata.annotations).not.toHaveProperty(Annotations.Interruption);
});

test('the end of a VM is believed if the cloud confirms it', async () => {
  const { rig, outcomes } = await started();
  await rig.createMachine('m-0');
  await runs(rig, 'm-0');
  const notice = noticeOf(rig, { kind: 'Ended' });
  rig.cloud.lose('m-0');
  rig.cloud.announce(notice);
  expect(await rig.until(async () => (await rig.machines()).length === 0)).toBeLessThan(60_000);
  expect(outcomes).toEqual(['recorded']);
});

test('a notice stays in the queue until the provider ID of the new VM is recorded', async () => {
  const answered = Promise.withResolvers<void>();
  const { rig, outcomes } = await started({
    cloud: { gate: (method, point) => (method === 'create' && point === 'after' ? answered.promise : undefined) },
  });
  await rig.createMachine('m-0');
  await rig.until(async () => rig.cloud.vms.length === 1);
  rig.cloud.announce(noticeOf(rig));
  await rig.clock.advance(5_000);
  expect(rig.cloud.notices).toHaveLength(1);
  expect(new Set(outcomes)).toEqual(new Set(['later']));
  answered.resolve();
  expect(await rig.until(async () => (await rig.machines()).length === 0)).toBeLessThan(120_000);
  expect(rig.cloud.notices).toEqual([]);
  expect(outcomes.at(-1)).toBe('recorded');
});

test('a source that fails is watched again, with growing delays', async () => {
  let fails = true;
  const { rig } = await started({
    cloud: {
      gate: (method) => {
        if (method === 'watchInterruptions' && fails) throw new Error('no such queue');
      },
    },
  });
  await rig.createMachine('m-0');
  await runs(rig, 'm-0');
  await rig.clock.advance(600_000);
  fails = false;
  rig.cloud.announce(noticeOf(rig, { deadline: new Date(rig.clock.now().getTime() + 300_000).toISOString() }));
  expect(await rig.until(async () => (await rig.machines()).length === 0)).toBeLessThan(300_000);
});

test('a notice on the Node is recorded on the Machine, which is then deleted', async () => {
  const { rig } = await started();
  await rig.createMachine('m-0');
  await runs(rig, 'm-0');
  const { id, kind, noticedAt, deadline, detail } = noticeOf(rig);
  const annotations = { [Annotations.Interruption]: JSON.stringify({ id, kind, noticedAt, deadline, detail }) };
  await rig.admin.resource(nodes).patch('m-0', { type: 'merge', body: { metadata: { annotations } } });
  expect(await rig.until(async () => (await rig.machines()).length === 0)).toBeLessThan(120_000);
  expect(rig.cloud.vms).toEqual([]);
});

const open = (clock: VirtualClock) => startControlPlane({ clock, crds, controllers: false });

const interrupted = (crashes: readonly (number | undefined)[], seed: number) =>
  runWithCrashes(
    crashes,
    {
      open,
      seed,
      joinAfterMs: 100,
      cloud: { announces: true },
      controller: { interruptions: { observe: () => undefined } },
    },
    async ({ rig, settled }) => {
      await rig.createMachine('a');
      await settled(async () => (await rig.phase('a')) === 'Running');
      const { providerId = '' } = rig.cloud.vms[0] ?? {};
      rig.cloud.announce({
        ...noticeOf(rig),
        providerId,
        deadline: new Date(rig.clock.now().getTime() + 900_000).toISOString(),
      });
      await settled(async () => (await rig.admin.resource(machines, NAMESPACE).list()).items.length === 0);
      expect(rig.cloud.vms).toEqual([]);
      expect(rig.cloud.made).toHaveLength(1);
    },
  );

test('a process that is killed at any write or cloud call loses no notice and leaves no VM', async () => {
  const { points } = await interrupted([], 1);
  expect(points).toBeGreaterThan(15);
  for (let at = 0; at < points; at += thoroughly(1, 5)) expect((await interrupted([at], 1)).crashes).toBe(1);
}, 300_000);

test('a process that is killed twice at random points loses no notice and leaves no VM', async () => {
  for (let seed = 1; seed <= thoroughly(20, 5, 40); seed++) {
    const random = seededRandom(seed);
    await interrupted([Math.floor(random.next() * 20), Math.floor(random.next() * 20)], seed);
  }
}, 300_000);

test('pods that a budget protects are evicted until shortly before the deadline, and then deleted', async () => {
  const { rig } = await started();
  await rig.createMachine('m-0');
  await runs(rig, 'm-0');
  await rig.createPod('web', 'm-0', { app: 'web' });
  await rig.admin.resource(podDisruptionBudgets, NAMESPACE).create({
    metadata: { name: 'web', namespace: NAMESPACE },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  } as never);
  rig.cloud.announce(noticeOf(rig));
  const start = rig.clock.now().getTime();
  await rig.until(async () => (await rig.podNames()).length === 0);
  const took = rig.clock.now().getTime() - start;
  expect(took).toBeGreaterThanOrEqual(109_000);
  expect(took).toBeLessThan(120_000);
  await rig.until(async () => rig.cloud.vms.length === 0);
  expect(rig.clock.now().getTime() - start).toBeLessThan(120_000);
  await rig.clock.advance(60_000);
  const { items } = await rig.admin.resource<EventObject>(events, NAMESPACE).list();
  expect(items.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/because the cloud is ending the VM: default\/web$/),
  );
});

test('after a long notice, the drain begins when the successor of the set runs', async () => {
  const { rig } = await started();
  const ownerReferences = [
    { apiVersion: 'machine.sapcloud.io/v1alpha1', kind: 'MachineSet', name: 'set', uid: 'set', controller: true },
  ];
  await rig.createMachine('m-0', {}, { ownerReferences });
  await runs(rig, 'm-0');
  await rig.createPod('web', 'm-0');
  rig.cloud.announce(noticeOf(rig, { deadline: new Date(rig.clock.now().getTime() + 1_800_000).toISOString() }));
  await rig.clock.advance(300_000);
  expect(await rig.description('m-0')).toContain('the replacement does not run yet, and the deadline has not passed');
  expect((await rig.nodes())[0]?.spec.unschedulable).toBe(true);
  expect((await rig.admin.resource(pods, NAMESPACE).get('web')).metadata.deletionTimestamp).toBeUndefined();
  await rig.createMachine('m-1', {}, { ownerReferences });
  await runs(rig, 'm-1');
  await rig.clock.advance(2_000);
  const [web] = (await rig.admin.resource(pods, NAMESPACE).list()).items;
  expect(web?.metadata.deletionTimestamp).toBeDefined();
});
