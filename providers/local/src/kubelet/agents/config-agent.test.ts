import { crds } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { nodes } from '@mcm/kube';
import { encodeDataUrl, machineConfigCrds, machineConfigs, NodeAnnotations } from '@mcm/machine-config';
import { expect, test } from 'vitest';
import { MemoryStore } from '../../cloud/store/memory-store.ts';
import { condition, type JoinRig, type JoinRigOptions, joinRig, type StartPlane } from '../../testing/join-rig.ts';

const { CurrentConfig, DesiredConfig, State, Reason, DesiredDrain, LastAppliedDrain } = NodeAnnotations;
const withKinds: StartPlane = (options) => startControlPlane({ ...options, crds: [...crds, ...machineConfigCrds] });

/** Starts a machine with a daemon. */
async function rigWithDaemon(options: JoinRigOptions = {}): Promise<{ rig: JoinRig; id: string }> {
  const rig = await joinRig(withKinds, { ...options, defaults: { configDaemon: true, ...options.defaults } });
  for (const name of ['a', 'b', 'c']) {
    const files = [{ path: `/etc/${name}`, overwrite: true, contents: { source: encodeDataUrl(name) } }];
    const config = { ignition: { version: '3.5.0' }, storage: { files } };
    await rig.client.resource(machineConfigs).create({ metadata: { name }, spec: { config } });
  }
  const { id } = await rig.launch({ name: 'n-1' });
  await rig.clock.advance(2_000);
  await annotate(rig, { [DesiredConfig]: 'a' });
  await drainAsAsked(rig);
  return { rig, id };
}

const annotate = (rig: JoinRig, annotations: Record<string, string>) =>
  rig.client.resource(nodes).patch('n-1', { type: 'merge', body: { metadata: { annotations } } });

const said = async (rig: JoinRig) => (await rig.node('n-1'))?.metadata.annotations ?? {};

/** Drains the node each time its daemon requests a drain, like the drain controller. */
async function drainAsAsked(rig: JoinRig): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    await rig.clock.advance(1_000);
    const { [DesiredDrain]: asked = '', [LastAppliedDrain]: done } = await said(rig);
    if (asked !== (done ?? '')) await annotate(rig, { [LastAppliedDrain]: asked });
  }
}

test('a machine simulates its daemon: drain, files, a reboot during which the node is not ready, uncordon, Done', async () => {
  const { rig } = await rigWithDaemon({ defaults: { rebootDelay: 5_000 } });
  await using _ = rig;
  expect(await said(rig)).toMatchObject({ [CurrentConfig]: 'a', [State]: 'Done' });
  await annotate(rig, { [DesiredConfig]: 'b' });
  await rig.clock.advance(500);
  expect(await said(rig)).toMatchObject({ [State]: 'Working', [DesiredDrain]: 'drain-b' });
  await annotate(rig, { [LastAppliedDrain]: 'drain-b' });
  await rig.clock.advance(3_000);
  expect(condition(await rig.node('n-1'), 'Ready')).toBe('False');
  await drainAsAsked(rig);
  expect(condition(await rig.node('n-1'), 'Ready')).toBe('True');
  expect(await said(rig)).toMatchObject({ [CurrentConfig]: 'b', [State]: 'Done', [DesiredDrain]: 'uncordon-b' });
});

test('the configuration agent reports the reason of a requested failure, and continues after a requested success', async () => {
  const { rig, id } = await rigWithDaemon();
  await using _ = rig;
  await rig.call('PUT', `/v1/instances/${id}/kubelet`, { config: 'fail', configFailure: 'disk full' });
  await annotate(rig, { [DesiredConfig]: 'b' });
  await drainAsAsked(rig);
  expect(await said(rig)).toMatchObject({ [CurrentConfig]: 'a', [State]: 'Degraded', [Reason]: 'disk full' });
  await rig.call('PUT', `/v1/instances/${id}/kubelet`, { config: 'apply' });
  await rig.clock.advance(60_000);
  await drainAsAsked(rig);
  expect(await said(rig)).toMatchObject({ [CurrentConfig]: 'b', [State]: 'Done', [Reason]: '' });
});

test('an agent that must hang works forever, and after a reboot without end the node stays not ready', async () => {
  const { rig, id } = await rigWithDaemon();
  await using _ = rig;
  await rig.call('PUT', `/v1/instances/${id}/kubelet`, { config: 'hang', reboot: 'never' });
  await annotate(rig, { [DesiredConfig]: 'b' });
  await drainAsAsked(rig);
  await rig.clock.advance(600_000);
  expect(await said(rig)).toMatchObject({ [CurrentConfig]: 'a', [State]: 'Working' });
  await rig.call('PUT', `/v1/instances/${id}/kubelet`, { config: 'apply' });
  await rig.clock.advance(600_000);
  expect(condition(await rig.node('n-1'), 'Ready')).toBe('False');
  await rig.call('PUT', `/v1/instances/${id}/kubelet`, { reboot: 'normal' });
  await drainAsAsked(rig);
  expect(await said(rig)).toMatchObject({ [CurrentConfig]: 'b', [State]: 'Done' });
});

test('a changed file is reported, and so is its repair', async () => {
  const { rig, id } = await rigWithDaemon();
  await using _ = rig;
  await rig.call('PUT', `/v1/instances/${id}/kubelet`, { drift: '/etc/a' });
  await rig.clock.advance(1_000);
  expect(await said(rig)).toMatchObject({ [State]: 'Degraded', [Reason]: expect.stringContaining('content mismatch') });
  await rig.call('PUT', `/v1/instances/${id}/kubelet`, { drift: '' });
  await rig.clock.advance(1_000);
  expect(await said(rig)).toMatchObject({ [State]: 'Done', [Reason]: '' });
});

test('the disk is kept after the end of the cloud process, also during an update', async () => {
  const store = new MemoryStore();
  const { rig } = await rigWithDaemon({ store });
  await annotate(rig, { [DesiredConfig]: 'b' });
  await rig.clock.advance(100);
  await annotate(rig, { [LastAppliedDrain]: 'drain-b' });
  await rig.clock.advance(500);
  await rig.cloud.close();
  await using again = await joinRig(withKinds, {
    store,
    clock: rig.clock,
    plane: rig.plane,
    defaults: { configDaemon: true },
  });
  await drainAsAsked(again);
  expect(await said(again)).toMatchObject({ [CurrentConfig]: 'b', [State]: 'Done' });
  await rig.plane.close();
});
