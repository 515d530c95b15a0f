import { Annotations, type Machine, type MachineClass, machineClasses, machines } from '@mcm/api';
import type { RestorablePlane, StoreSnapshot } from '@mcm/control-plane';
import { events, nodes, pause, type Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { ORPHAN_DEFAULTS, type OrphanOptions } from '../safety/orphans/orphan-options.ts';
import { type RestorableStage, running, staged } from './testing/restorable-stage.ts';
import { NAMESPACE, type Rig, type RigOptions } from './testing/rig.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const UNTIL_THE_END = new AbortController().signal;

const reported = async (rig: Rig): Promise<string[]> =>
  (await rig.admin.resource(events).list()).items
    .filter(({ reason }) => reason === 'OrphanVM')
    .map(({ message = '' }) => message);

const classOf = (rig: Rig): Promise<MachineClass> =>
  rig.admin.resource<MachineClass>(machineClasses, NAMESPACE).get('small');

const quarantined = async (rig: Rig): Promise<string | undefined> =>
  (await classOf(rig)).metadata.annotations?.[Annotations.QuarantinedVMs];

const release = async (rig: Rig, ids: string): Promise<void> => {
  const body = { metadata: { annotations: { [Annotations.ReleaseVMs]: ids } } };
  await rig.admin.resource<MachineClass>(machineClasses, NAMESPACE).patch('small', { type: 'merge', body });
};

async function forceAway(rig: Rig, name: string): Promise<void> {
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  await rig.conditions(name, [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }]);
  rig.cloud.lose(name);
  await rig.kill();
  await client.patch(name, { type: 'merge', body: { metadata: { finalizers: null } } });
  await client.delete(name);
  rig.start();
}

async function search(rig: Rig): Promise<void> {
  await rig.createMachine('brief', {}, { finalizers: [] });
  await rig.deleteMachine('brief');
}

async function restored(options: Partial<RigOptions> = {}): Promise<RestorableStage> {
  const stage = await staged(options);
  const { rig, plane } = stage;
  await running(rig, 'm-0');
  const backup = plane.snapshot();
  await rig.clock.advance(MINUTE);
  await running(rig, 'm-1');
  await rig.clock.advance(MINUTE);
  await plane.restore(backup);
  return stage;
}

const rejoin = async ({ rig }: RestorableStage): Promise<void> => {
  const [, vm] = rig.cloud.vms;
  if (vm) await rig.join(vm);
};

test('a VM that is younger than the backup is kept, and the class says so', async () => {
  const stage = await restored();
  const { rig } = stage;
  const [, young] = rig.cloud.vms;
  await rejoin(stage);
  await rig.clock.advance(40 * MINUTE);
  expect(rig.cloud.vms).toHaveLength(2);
  expect((await rig.admin.resource(nodes).get('m-1')).spec.unschedulable).toBeUndefined();
  expect(await quarantined(rig)).toBe(young?.providerId);
  expect(await reported(rig)).toEqual([
    expect.stringMatching(/the VM is in quarantine \(the control cluster was restored/),
  ]);
  expect(rig.controller?.suspects().quarantined).toBe(1);
});

test('a VM without a Node is kept as well, because its Node may have been younger than the backup', async () => {
  const { rig } = await restored();
  await rig.clock.advance(40 * MINUTE);
  expect(rig.cloud.vms).toHaveLength(2);
});

test('the next process also keeps a VM that is younger than the backup', async () => {
  const stage = await restored();
  const { rig } = stage;
  await rejoin(stage);
  await rig.until(async () => (await quarantined(rig)) !== undefined, HOUR);
  await rig.kill();
  rig.start();
  await rig.clock.advance(40 * MINUTE);
  expect(rig.cloud.vms).toHaveLength(2);
});

test('a process with the policy report keeps the record of a VM in quarantine for the next process', async () => {
  const orphans: { -readonly [Key in keyof OrphanOptions]: OrphanOptions[Key] } = { ...ORPHAN_DEFAULTS };
  const stage = await restored({ controller: { orphans } });
  const { rig } = stage;
  const [, young] = rig.cloud.vms;
  await rejoin(stage);
  await rig.until(async () => (await quarantined(rig)) !== undefined, HOUR);
  await rig.kill();
  orphans.policy = 'report';
  rig.start();
  await rig.clock.advance(40 * MINUTE);
  expect(await quarantined(rig)).toBe(young?.providerId);
  await rig.kill();
  orphans.policy = 'delete';
  rig.start();
  await rig.clock.advance(2 * HOUR);
  expect([await quarantined(rig), rig.cloud.vms.length]).toEqual([young?.providerId, 2]);
});

test('a VM that an operator releases is drained, then deleted, and the class reports it no longer', async () => {
  const stage = await restored();
  const { rig } = stage;
  await rejoin(stage);
  await rig.createPod('web', 'm-1');
  await rig.until(async () => (await quarantined(rig)) !== undefined, HOUR);
  await release(rig, (await quarantined(rig)) ?? '');
  await rig.until(async () => (await rig.admin.resource(nodes).get('m-1')).spec.unschedulable === true, HOUR);
  expect(rig.cloud.vms).toHaveLength(2);
  await rig.until(async () => rig.cloud.vms.length === 1, 5 * HOUR);
  await rig.clock.advance(20 * MINUTE);
  const { annotations = {} } = (await classOf(rig)).metadata;
  expect([annotations[Annotations.QuarantinedVMs], annotations[Annotations.ReleaseVMs]]).toEqual([
    undefined,
    undefined,
  ]);
  expect(await rig.phase('m-0')).toBe('Running');
});

test('a machine that is created again under its name takes the VM out of quarantine', async () => {
  const stage = await restored();
  const { rig } = stage;
  const [, young] = rig.cloud.vms;
  await rejoin(stage);
  await rig.until(async () => (await quarantined(rig)) !== undefined, HOUR);
  await running(rig, 'm-1');
  expect((await rig.machine('m-1'))?.spec.providerID).toBe(young?.providerId);
  await rig.clock.advance(20 * MINUTE);
  expect([await quarantined(rig), rig.cloud.made.length, rig.cloud.vms.length]).toEqual([undefined, 2, 2]);
});

test('a VM that is created after the restore is an orphan like any other', async () => {
  const { rig } = await restored();
  await rig.clock.advance(20 * MINUTE);
  rig.cloud.plant('stray', rig.clock.now().toISOString());
  await rig.until(async () => !rig.cloud.vms.some(({ machineName }) => machineName === 'stray'), 2 * HOUR);
  expect(rig.cloud.vms).toHaveLength(2);
});

test('a restored machine whose deletion had ended is deleted completely', async () => {
  let backup: StoreSnapshot | undefined;
  let plane: RestorablePlane | undefined;
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      const ends = request.path.includes('/machines/m-0') && request.body?.includes('"finalizers":[]');
      if (ends) backup = plane?.snapshot();
      return transport(request);
    };
  const stage = await staged({ wrap });
  const { rig } = stage;
  await running(rig, 'm-0');
  plane = stage.plane;
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await rig.machine('m-0')) === undefined);
  if (backup) await plane.restore(backup);
  expect((await rig.machine('m-0'))?.metadata.deletionTimestamp).toBeDefined();
  await rig.until(async () => (await rig.machine('m-0')) === undefined, 10 * MINUTE);
  expect(rig.cloud.vms).toEqual([]);
});

const refer = (rig: Rig, name: string): Promise<MachineClass> => {
  const body = { secretRef: { name, namespace: NAMESPACE } };
  return rig.admin.resource<MachineClass>(machineClasses, NAMESPACE).patch('small', { type: 'merge', body });
};

/** Raises the resource version of the API server, so that the controller can prove that the API server was restored. */
async function proceed(rig: Rig): Promise<void> {
  for (let index = 0; index < 20; index += 1) await rig.createPod(`other-${index}`, 'other');
  await rig.clock.settle();
}

async function* unless(lost: () => boolean, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) if (!lost()) yield chunk;
}

test('a restore that brings the last finalizer back before the watch reports the deletion: the machine is deleted completely', async () => {
  let plane: RestorablePlane | undefined;
  let rewound = false;
  let lost = false;
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      const ends = request.path.includes('/machines/m-0') && request.body?.includes('"finalizers":[]');
      if (request.path.includes('/machines?') && request.path.includes('watch=')) {
        const watch = await transport(request);
        const { status, headers, body } = watch;
        return { status, headers, text: () => watch.text(), body: body && unless(() => lost, body) };
      }
      if (!ends || !plane || rewound) return transport(request);
      [rewound, lost] = [true, true];
      const backup = plane.snapshot();
      const answer = await transport(request);
      await proceed(stage.rig);
      await plane.restore(backup);
      lost = false;
      await pause(stage.rig.clock, MINUTE, UNTIL_THE_END);
      return answer;
    };
  const stage = await staged({ wrap });
  const { rig } = stage;
  await running(rig, 'm-0');
  plane = stage.plane;
  await rig.deleteMachine('m-0');
  await rig.until(async () => rewound, 10 * MINUTE);
  await rig.until(async () => (await rig.machine('m-0')) === undefined, HOUR);
  expect(rig.cloud.vms).toEqual([]);
});

async function restoredToBirth(act: (rig: Rig) => void): Promise<Rig> {
  const backups: StoreSnapshot[] = [];
  let plane: RestorablePlane | undefined;
  const gate = (method: string, point: string): void => {
    if (method === 'create' && point === 'before' && plane) backups.push(plane.snapshot());
  };
  const stage = await staged({ cloud: { gate } });
  plane = stage.plane;
  await running(stage.rig, 'm-0');
  const [backup] = backups;
  if (!backup) throw new Error('no VM was created');
  act(stage.rig);
  await plane.restore(backup);
  expect((await stage.rig.machine('m-0'))?.spec.providerID).toBeUndefined();
  return stage.rig;
}

test('the VM of a machine whose creation a restore forgets is adopted, and no second one is requested', async () => {
  const rig = await restoredToBirth(() => undefined);
  const [vm] = rig.cloud.vms;
  await rig.until(async () => (await rig.machine('m-0'))?.spec.providerID !== undefined, 10 * MINUTE);
  expect((await rig.machine('m-0'))?.spec.providerID).toBe(vm?.providerId);
  expect([rig.cloud.vms.length, rig.cloud.calls.create]).toEqual([1, 1]);
});

test('what a process remembers of a VM from before a restore is not written to its machine', async () => {
  const rig = await restoredToBirth(({ cloud }) => cloud.lose('m-0'));
  await rig.until(async () => (await rig.machine('m-0'))?.spec.providerID !== undefined, 10 * MINUTE);
  expect(rig.cloud.vms.map(({ providerId }) => providerId)).toEqual([(await rig.machine('m-0'))?.spec.providerID]);
  expect(rig.cloud.made).toHaveLength(2);
});

async function restoredInCreation(act: (rig: Rig) => Promise<unknown>): Promise<Rig> {
  let stage: RestorableStage | undefined;
  let backup: StoreSnapshot | undefined;
  const gate = async (method: string, point: string): Promise<void> => {
    if (!stage || method !== 'create') return;
    if (point === 'before') {
      await act(stage.rig);
      await stage.rig.deleteMachine('m-0');
      backup = stage.plane.snapshot();
    } else if (backup) {
      await proceed(stage.rig);
      await stage.plane.restore(backup);
      await pause(stage.rig.clock, MINUTE, UNTIL_THE_END);
    }
  };
  stage = await staged({ cloud: { gate } });
  await stage.rig.createMachine('m-0');
  return stage.rig;
}

test('a call that a restore overtakes lets its machine continue when it ends', async () => {
  const rig = await restoredInCreation(async () => undefined);
  await rig.until(async () => (await rig.machine('m-0')) === undefined, HOUR);
  expect([rig.cloud.vms, rig.cloud.made.length]).toEqual([[], 1]);
});

test('after a restore, a deleted machine without a usable class waits for its class, because its VM may exist', async () => {
  const rig = await restoredInCreation((each) => refer(each, 'missing'));
  await rig.clock.advance(HOUR);
  expect([rig.cloud.vms.length, (await rig.machine('m-0'))?.metadata.name]).toEqual([1, 'm-0']);
  await refer(rig, 'small');
  await rig.until(async () => (await rig.machine('m-0')) === undefined, HOUR);
  expect([rig.cloud.vms, rig.cloud.made.length]).toEqual([[], 1]);
});

test('a Node without a machine is watched for the full time again after a restore', async () => {
  const stage = await staged();
  const { rig, plane } = stage;
  await running(rig, 'm-0');
  await rig.clock.advance(30 * MINUTE);
  await forceAway(rig, 'm-0');
  const backup = plane.snapshot();
  await rig.until(async () => rig.controller?.suspects().nodes === 1, 30 * MINUTE);
  await rig.clock.advance(ORPHAN_DEFAULTS.confirmAfterMs - MINUTE);
  expect(await rig.nodes()).toHaveLength(1);
  await proceed(rig);
  await plane.restore(backup);
  for (let spent = 0; spent < ORPHAN_DEFAULTS.confirmAfterMs - MINUTE; spent += MINUTE) {
    await rig.clock.advance(MINUTE);
    await search(rig);
    expect(await rig.nodes()).toHaveLength(1);
  }
  await rig.until(async () => (await rig.nodes()).length === 0, HOUR);
});

test('mcm checks no health while the copy of the server is unproven', async () => {
  const { rig } = await restored();
  const cache = rig.controller?.caches.machines;
  const frozen: (boolean | undefined)[] = [];
  cache?.onDoubt(() => frozen.push(rig.controller?.frozen()));
  await rig.clock.advance(MINUTE);
  // After the restore, mcm probes the API servers before it checks health again.
  expect([frozen, rig.controller?.frozen()]).toEqual([[true, true], false]);
  expect(cache?.store.list().map(({ metadata }) => metadata.name)).toEqual(['m-0']);
});

test('machines that are deleted together, as with their CRD, leave their VMs in quarantine', async () => {
  const { rig } = await staged();
  const names = Array.from({ length: 10 }, (_, index) => `m-${index}`);
  await running(rig, ...names);
  await rig.kill();
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  for (const name of names) {
    await client.patch(name, { type: 'merge', body: { metadata: { finalizers: null } } });
    await client.delete(name);
  }
  rig.start();
  await rig.clock.advance(40 * MINUTE);
  expect(rig.cloud.vms).toHaveLength(10);
  expect((await rig.nodes()).filter(({ spec }) => spec.unschedulable)).toEqual([]);
  expect((await quarantined(rig))?.split(',')).toHaveLength(10);
  expect((await reported(rig))[0]).toContain('10 VMs with Nodes lost their Machine objects at the same time');
});

test('a class that is created later keeps the VMs in quarantine, after an operator released the other VMs', async () => {
  const { rig } = await staged();
  await running(rig, 'm-0', 'm-1', 'm-2');
  await rig.kill();
  const client = rig.admin.resource<Machine>(machines, NAMESPACE);
  for (const name of ['m-1', 'm-2']) {
    await client.patch(name, { type: 'merge', body: { metadata: { finalizers: null } } });
    await client.delete(name);
  }
  rig.start();
  await rig.until(async () => (await quarantined(rig)) !== undefined, HOUR);
  await rig.createClass('later');
  const [one = '', other] = (await quarantined(rig))?.split(',') ?? [];
  await release(rig, one);
  await rig.until(async () => rig.cloud.vms.length === 2, HOUR);
  await rig.clock.advance(2 * HOUR);
  expect(rig.cloud.vms.map(({ providerId }) => providerId)).toContain(other);
  const later = await rig.admin.resource<MachineClass>(machineClasses, NAMESPACE).get('later');
  expect([await quarantined(rig), later.metadata.annotations?.[Annotations.QuarantinedVMs]]).toEqual([other, other]);
  await release(rig, other ?? '');
  await rig.until(async () => rig.cloud.vms.length === 1, HOUR);
  await rig.clock.advance(20 * MINUTE);
  expect(await quarantined(rig)).toBeUndefined();
});
