import { Annotations, crds, type Machine, machines } from '@mcm/api';
import { startControlPlane, startRestorablePlane } from '@mcm/control-plane';
import { createClient, nodes, pods, VirtualClock } from '@mcm/kube';
import { expect, onTestFinished, test } from 'vitest';
import { controllerIdOf, type FakeCloudOptions } from '../driver/testing.ts';
import { powerOf } from '../warm/warm-machine.ts';
import { NAMESPACE, Rig } from './testing/rig.ts';

const MINUTE = 60_000;
const READY = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', lastTransitionTime: '2026-01-01T00:00:00Z' }];

const LOST = ['n-1', 'n-2', 'n-3'];

async function staged(cloud: FakeCloudOptions = {}) {
  const clock = new VirtualClock();
  const plane = await startControlPlane({ clock, crds, controllers: false, eventTtlMs: 0 });
  const target = await startRestorablePlane({ clock, controllers: false, eventTtlMs: 0 });
  const client = createClient({ transport: target.transport, userAgent: 'machine-controller', clock });
  const user = createClient({ transport: target.transport, userAgent: 'test', clock });
  const rig = new Rig({ clock, plane, joinAfterMs: undefined, cloud, controller: { target: client } });
  onTestFinished(async () => {
    await rig.kill();
    await plane.close();
    await target.close();
  });
  await rig.createClass();
  rig.start();
  const join = async (name: string): Promise<void> => {
    const vm = rig.cloud.vms.find(({ machineName }) => machineName === name);
    if (!vm) throw new Error(`machine ${name} has no VM`);
    const spec = { providerID: controllerIdOf(vm.providerId) };
    await user.resource(nodes).create({ metadata: { name }, spec });
    const body = { status: { conditions: READY } };
    await user.resource(nodes).patch(name, { type: 'merge', body }, { subresource: 'status' });
  };
  const begin = async (name: string): Promise<void> => {
    await rig.createMachine(name);
    await rig.until(async () => (await rig.phase(name)) === 'Pending');
    await join(name);
    await rig.until(async () => (await rig.phase(name)) === 'Running');
  };
  return { clock, rig, user, join, begin, target };
}

async function restored(names: readonly string[]) {
  const { clock, rig, user, join, begin, target } = await staged();
  await begin('n-0');
  const backup = target.snapshot();
  await clock.advance(MINUTE);
  for (const name of names) await begin(name);
  await clock.advance(MINUTE);
  const before = rig.cloud.vms;
  await target.restore(backup);
  return { rig, user, join, before };
}

test('machines whose Nodes a restore of the target cluster removes are kept until their kubelets register again', async () => {
  const { rig, user, join, before } = await restored(LOST);
  // Most machines are unreachable, so the circuit breaker prevents replacements.
  await rig.clock.advance(30 * MINUTE);
  const phases = () => Promise.all(['n-0', ...LOST].map((name) => rig.phase(name)));
  expect(await phases()).toEqual(['Running', 'Unknown', 'Unknown', 'Unknown']);
  for (const name of LOST) await join(name);
  await rig.clock.advance(10 * MINUTE);
  expect(await phases()).toEqual(['Running', 'Running', 'Running', 'Running']);
  expect([rig.cloud.vms, rig.cloud.calls.create]).toEqual([before, 4]);
  expect((await user.resource(nodes).list()).items.filter(({ spec }) => spec.unschedulable)).toEqual([]);
});

test('a Node of the backup is drained with the pods that it has after the restore', async () => {
  const { rig, user, before } = await restored([]);
  const draft = { nodeName: 'n-0', containers: [{ name: 'main', image: 'pause' }], terminationGracePeriodSeconds: 30 };
  await user.resource(pods, 'default').create({ metadata: { name: 'web', namespace: 'default' }, spec: draft });
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await user.resource(pods, 'default').patch('web', { type: 'merge', body: { status } }, { subresource: 'status' });
  await rig.clock.advance(MINUTE);
  await rig.deleteMachine('n-0');
  const isLeaving = async (): Promise<boolean> =>
    (await user.resource(pods, 'default').get('web')).metadata.deletionTimestamp !== undefined;
  await rig.until(isLeaving, 10 * MINUTE);
  expect([rig.cloud.vms, (await user.resource(nodes).get('n-0')).spec.unschedulable]).toEqual([before, true]);
});

test('a machine that was warm is kept if a restore of the target cluster removes its Node', async () => {
  const { clock, rig, join, begin, target } = await staged({ stops: true });
  await begin('n-0');
  await rig.createMachine('n-1', {}, { annotations: { [Annotations.WarmState]: 'Stopped' } });
  await rig.until(async () => (await rig.phase('n-1')) === 'Pending');
  await join('n-1');
  const power = async () => {
    const machine = await rig.machine('n-1');
    return machine && powerOf(machine)?.is;
  };
  await rig.until(async () => (await power()) === 'Stopped');
  await clock.advance(MINUTE);
  const backup = target.snapshot();
  const body = { metadata: { annotations: { [Annotations.WarmState]: null } } };
  await rig.admin.resource<Machine>(machines, NAMESPACE).patch('n-1', { type: 'merge', body });
  await rig.until(async () => (await power()) === 'Starting');
  await join('n-1');
  await rig.until(async () => (await rig.phase('n-1')) === 'Running' && (await power()) === undefined);
  await clock.advance(MINUTE);
  await target.restore(backup);
  await clock.advance(5 * MINUTE);
  expect([await rig.phase('n-0'), await rig.phase('n-1')]).toEqual(['Running', 'Unknown']);
  await join('n-1');
  await clock.advance(5 * MINUTE);
  expect([await rig.phase('n-1'), rig.cloud.vms.length, rig.cloud.calls.create]).toEqual(['Running', 2, 2]);
});
