import { Annotations, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import { events } from '@mcm/kube';
import { expect, test } from 'vitest';
import { ORPHAN_TAGS } from '../driver/contract/tags.ts';
import { tagTime } from '../safety/orphan-tags/plan.ts';
import { ORPHAN_DEFAULTS, type OrphanOptions } from '../safety/orphans/orphan-options.ts';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { type StartOptions, startRig } from './testing/start.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const { deleteAfter, quarantined } = ORPHAN_TAGS;
const STOPPED = { ...ORPHAN_DEFAULTS, stopMs: 6 * HOUR };
const TAGGED = { ...ORPHAN_DEFAULTS, tags: true };
const cloud = { stops: true, tags: true };

async function started(orphans: OrphanOptions, options: StartOptions = {}): Promise<Rig> {
  const rig = await startRig({ eventTtlMs: 0, cloud, controller: { orphans }, ...options });
  await rig.clock.advance(5 * MINUTE);
  return rig;
}

/** Adds VMs that never joined, so mcm puts no VM in quarantine. */
async function planted(options: StartOptions = {}, names = ['nobody'], orphans = STOPPED): Promise<Rig> {
  const rig = await started(orphans, options);
  for (const name of names) rig.cloud.plant(name, rig.clock.now().toISOString());
  return rig;
}

/** Adds two VMs that are too old to come from failed creations, so mcm assumes a mass deletion. */
async function lost(options: StartOptions = {}, orphans: OrphanOptions = TAGGED): Promise<Rig> {
  const rig = await started(orphans, options);
  for (const name of ['a', 'b']) {
    const vm = rig.cloud.plant(name, '2025-01-01T00:00:00Z');
    vm.tags = { 'kubernetes.io/cluster/ours': '1' };
  }
  return rig;
}

const classOf = (rig: Rig): Promise<MachineClass> =>
  rig.admin.resource<MachineClass>(machineClasses, NAMESPACE).get('small');
const annotation = async (rig: Rig, name: string): Promise<string | undefined> =>
  (await classOf(rig)).metadata.annotations?.[name];
const stoppedUntil = async (rig: Rig): Promise<Date> =>
  new Date(((await annotation(rig, Annotations.StoppedVMs)) ?? '').split('=')[1] ?? '');
const eventsOf = async (rig: Rig, reason: string): Promise<(string | undefined)[]> =>
  (await rig.admin.resource(events).list()).items.filter((each) => each.reason === reason).map((each) => each.message);
const tagsOf = (rig: Rig) => rig.cloud.vms.map(({ tags }) => tags);
const warnings = (rig: Rig): number =>
  rig.log.lines.filter(({ level, message }) => level === 'warn' && message.startsWith('Cannot change the tags')).length;

test('a VM is tagged before its stop, and later has the recorded deletion time', async () => {
  let stops: unknown[] = [];
  const rig = await planted({
    cloud: {
      ...cloud,
      gate: (method, point) => {
        if (method === 'stop' && point === 'before') stops = tagsOf(rig);
      },
    },
  });
  await rig.until(async () => (await annotation(rig, Annotations.StoppedVMs)) !== undefined, HOUR);
  const until = await stoppedUntil(rig);
  expect(stops).toEqual([{ [deleteAfter]: expect.stringMatching(/^2026-\d\d-\d\dt\d\d-\d\d-\d\dz$/) }]);
  await rig.clock.advance(HOUR);
  expect(tagsOf(rig)).toEqual([{ [deleteAfter]: tagTime(until) }]);
  const { tag, stop } = rig.cloud.calls;
  expect([tag <= 2, stop]).toEqual([true, 1]);
  await rig.clock.advance(3 * HOUR);
  expect(rig.cloud.calls.tag).toBe(tag);
  await rig.until(async () => rig.cloud.vms.length === 0, 3 * HOUR);
  expect(rig.clock.now().getTime()).toBeGreaterThanOrEqual(until.getTime());
});

test('VMs in quarantine have a tag with the reason, a new process sends no call, and other tags stay', async () => {
  const rig = await lost();
  const tags = { 'kubernetes.io/cluster/ours': '1', [quarantined]: 'machines-lost' };
  await rig.until(async () => rig.cloud.calls.tag === 2, HOUR);
  expect(tagsOf(rig)).toEqual([tags, tags]);
  await rig.kill();
  rig.start();
  await rig.clock.advance(3 * HOUR);
  expect([rig.cloud.calls.tag, tagsOf(rig)]).toEqual([2, [tags, tags]]);
});

test('a Machine that takes back a VM ends its tags, and the other VM keeps its tag', async () => {
  const rig = await lost();
  await rig.until(async () => rig.cloud.calls.tag === 2, HOUR);
  const [vm] = rig.cloud.vms;
  await rig.createMachine('a', { providerID: vm?.providerId ?? '' });
  await rig.until(async () => rig.cloud.calls.tag === 3, HOUR);
  const ours = { 'kubernetes.io/cluster/ours': '1' };
  expect(tagsOf(rig)).toEqual([ours, { ...ours, [quarantined]: 'machines-lost' }]);
  await rig.clock.advance(2 * HOUR);
  expect(rig.cloud.calls.tag).toBe(3);
});

test('a Machine that takes back a stopped VM ends its tags', async () => {
  const rig = await planted();
  await rig.until(async () => (await annotation(rig, Annotations.StoppedVMs)) !== undefined, HOUR);
  const [vm] = rig.cloud.vms;
  if (vm) vm.stopped = false;
  await rig.createMachine('nobody', { providerID: vm?.providerId ?? '' });
  await rig.until(async () => Object.keys(tagsOf(rig)[0] ?? {}).length === 0, HOUR);
  expect(rig.cloud.vms).toHaveLength(1);
});

test.each<[name: string, orphans: OrphanOptions]>([
  ['without the flags', ORPHAN_DEFAULTS],
  ['with the policy "report"', { ...TAGGED, policy: 'report' }],
])('%s, no VM gets a tag, and lists of VMs need no tags', async (_name, orphans) => {
  const rig = await lost({}, orphans);
  const [vm] = rig.cloud.vms;
  if (vm) vm.tags = { [quarantined]: 'machines-lost' };
  await rig.createMachine('a', { providerID: vm?.providerId ?? '' });
  await rig.clock.advance(2 * HOUR);
  expect(rig.cloud.calls.tag).toBe(0);
  expect(vm?.tags).toEqual({ [quarantined]: 'machines-lost' });
});

test('a refused tag is reported once, and the VM is stopped and deleted as without tags', async () => {
  const refuse = { code: 'PermissionDenied', message: 'no permission for CreateTags' } as const;
  const times = async (tags: boolean) => {
    const rig = await planted({ cloud: { stops: true, tags } });
    rig.cloud.fail('tag', ...Array.from({ length: 1_000 }, () => refuse));
    const stopped = await rig.until(async () => (await annotation(rig, Annotations.StoppedVMs)) !== undefined, HOUR);
    const until = await stoppedUntil(rig);
    const deleted = await rig.until(async () => rig.cloud.vms.length === 0, 8 * HOUR);
    return { rig, times: [stopped, until, deleted] };
  };
  const { rig, times: withTags } = await times(true);
  expect((await times(false)).times).toEqual(withTags);
  expect(await eventsOf(rig, 'TaggingFailed')).toEqual([expect.stringContaining('no permission for CreateTags')]);
  expect(warnings(rig)).toBe(1);
  // The search runs every 15 minutes for 6 hours.
  expect(rig.cloud.calls.tag).toBeLessThan(30);
});

test('after the permission is granted, a later search tags all stopped VMs, and the class reports it', async () => {
  const names = Array.from({ length: 25 }, (_, i) => `n-${i}`);
  const rig = await planted({}, names);
  rig.cloud.fail('tag', ...Array.from({ length: 1_000 }, () => ({ code: 'PermissionDenied' }) as const));
  await rig.until(async () => rig.cloud.vms.every(({ stopped }) => stopped), HOUR);
  rig.cloud.recover();
  await rig.until(async () => tagsOf(rig).every((tags) => tags?.[deleteAfter] !== undefined), HOUR);
  expect(await eventsOf(rig, 'TaggingFailed')).toHaveLength(1);
  await rig.until(async () => (await eventsOf(rig, 'TaggingWorks')).length === 1, HOUR);
});

test('at most five tag calls run at the same time', async () => {
  let running = 0;
  let most = 0;
  const gate = async (method: string, point: 'before' | 'after'): Promise<void> => {
    if (method !== 'tag') return;
    running += point === 'before' ? 1 : -1;
    most = Math.max(most, running);
    if (point === 'before') await new Promise<void>((resolve) => rig.clock.setTimeout(resolve, 1_000));
  };
  const names = Array.from({ length: 20 }, (_, i) => `n-${i}`);
  const rig = await planted({ cloud: { ...cloud, gate } }, names);
  await rig.until(async () => rig.cloud.vms.every(({ stopped }) => stopped), HOUR);
  expect(most).toBe(5);
});

test('a tag call that never ends delays the stop only by its timeout', async () => {
  let calledAt = 0;
  const gate = async (method: string): Promise<void> => {
    if (method !== 'tag') return;
    calledAt ||= rig.clock.now().getTime();
    await new Promise(() => undefined);
  };
  const rig = await planted({ cloud: { ...cloud, gate } });
  await rig.until(async () => rig.cloud.vms[0]?.stopped === true, HOUR);
  expect(rig.clock.now().getTime() - calledAt).toBeLessThan(4 * MINUTE);
  await rig.until(async () => rig.cloud.vms.length === 0, 8 * HOUR);
});

test('after a lost response, a later search finds the tag and sends no second call', async () => {
  const rig = await lost();
  rig.cloud.fail('tag', { code: 'Internal', after: true });
  await rig.until(async () => tagsOf(rig).every((tags) => tags?.[quarantined] !== undefined), HOUR);
  await rig.clock.advance(2 * HOUR);
  expect([rig.cloud.calls.tag, await eventsOf(rig, 'TaggingFailed')]).toEqual([
    2,
    [expect.stringContaining('Internal')],
  ]);
});

test('a process that ends between the tag and the stop leaves a VM that the next process tags and stops', async () => {
  let stops = 0;
  const gate = (method: string, point: string): Promise<never> | undefined =>
    method === 'stop' && point === 'before' && ++stops === 1 ? new Promise<never>(() => undefined) : undefined;
  const rig = await planted({ cloud: { ...cloud, gate } });
  await rig.until(async () => stops === 1, HOUR);
  const [first] = tagsOf(rig);
  await rig.kill();
  rig.start();
  await rig.until(async () => (await annotation(rig, Annotations.StoppedVMs)) !== undefined, 2 * HOUR);
  await rig.clock.advance(HOUR);
  expect(tagsOf(rig)).toEqual([{ [deleteAfter]: tagTime(await stoppedUntil(rig)) }]);
  expect(tagsOf(rig)).not.toEqual([first]);
});

test('a VM that gets a Machine during the tag call is not stopped', async () => {
  let calls = 0;
  const gate = async (method: string, point: string): Promise<void> => {
    if (method !== 'tag' || point !== 'after' || ++calls > 1) return;
    const [vm] = rig.cloud.vms;
    await rig.createMachine('nobody', { providerID: vm?.providerId ?? '' });
    await new Promise<void>((resolve) => rig.clock.setTimeout(resolve, MINUTE));
  };
  const rig = await planted({ cloud: { ...cloud, gate } });
  await rig.until(async () => calls > 1, 2 * HOUR);
  await rig.clock.advance(HOUR);
  expect([rig.cloud.calls.stop, tagsOf(rig)]).toEqual([0, [{}]]);
  expect((await rig.admin.resource<Machine>(machines, NAMESPACE).get('nobody')).metadata.name).toBe('nobody');
});

test('a driver without the method tag stops and deletes VMs, and the log reports the missing tags', async () => {
  const rig = await planted({ cloud: { stops: true } });
  await rig.until(async () => rig.cloud.vms[0]?.stopped === true, HOUR);
  await rig.until(async () => rig.cloud.vms.length === 0, 8 * HOUR);
  expect([rig.cloud.calls.tag, await eventsOf(rig, 'TaggingFailed')]).toEqual([0, []]);
  expect(rig.log.lines.some(({ message }) => message.startsWith('Driver has no method tag'))).toBe(true);
});
