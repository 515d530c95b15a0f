import {
  csiNodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  type Transport,
  volumeAttachments,
} from '@mcm/kube';
import { expect, test } from 'vitest';
import { NAMESPACE, type Rig } from './testing/rig.ts';
import { startRig } from './testing/start.ts';

const DRIVER = 'local.csi';
const NAMES = ['db-0', 'db-1', 'db-2', 'db-3'];

async function started(
  count: number | undefined,
  wrap?: (transport: Transport) => Transport,
  names: readonly string[] = NAMES,
): Promise<Rig> {
  const rig = await startRig({ controller: { volumeWindow: 5 }, ...(wrap ? { wrap } : {}) });
  for (const name of ['m-0', 'm-1']) await rig.createMachine(name);
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  const { admin } = rig;
  for (const name of ['m-0', 'm-1']) {
    const driver = { name: DRIVER, nodeID: name, topologyKeys: [], ...(count ? { allocatable: { count } } : {}) };
    await admin.resource(csiNodes).create({ metadata: { name }, spec: { drivers: [driver] } });
  }
  for (const name of names) {
    const csi = { driver: DRIVER, volumeHandle: name };
    const spec = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, csi };
    await admin.resource(persistentVolumes).create({ metadata: { name: `pv-${name}` }, spec });
    await admin.resource(persistentVolumeClaims, NAMESPACE).create({
      metadata: { name, namespace: NAMESPACE },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: `pv-${name}` },
    });
    await attach(rig, name, 'm-0');
    await rig.createPod(name, 'm-0', {}, [{ name: 'data', persistentVolumeClaim: { claimName: name } }]);
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'u', controller: true };
    const body = { metadata: { ownerReferences: [owner] } };
    await admin.resource(pods, NAMESPACE).patch(name, { type: 'merge', body });
  }
  await rig.clock.advance(1_000);
  await rig.deleteMachine('m-0');
  return rig;
}

async function attach(rig: Rig, name: string, nodeName: string): Promise<void> {
  const client = rig.admin.resource(volumeAttachments);
  const va = `${name}-${nodeName}`;
  const spec = { attacher: DRIVER, nodeName, source: { persistentVolumeName: `pv-${name}` } };
  await client.create({ metadata: { name: va }, spec });
  await client.patch(va, { type: 'merge', body: { status: { attached: true } } }, { subresource: 'status' });
}

const leaving = async (rig: Rig): Promise<string[]> =>
  (await rig.admin.resource(pods, NAMESPACE).list()).items
    .filter(({ metadata }) => metadata.deletionTimestamp)
    .map(({ metadata }) => metadata.name);

async function moved(rig: Rig, name: string): Promise<void> {
  await rig.admin.resource(pods, NAMESPACE).delete(name, { gracePeriodSeconds: 0 });
  await rig.clock.advance(1_000);
  await rig.admin.resource(volumeAttachments).delete(`${name}-m-0`);
  await rig.clock.advance(1_000);
  await attach(rig, name, 'm-1');
  await rig.clock.advance(1_000);
}

test.each<[what: string, count: number | undefined, then: string[]]>([
  ['room for three more: as many as the window allows', 4, ['db-1', 'db-2']],
  ['no limit: as many as the window allows', undefined, ['db-1', 'db-2']],
  ['room for one more: one', 2, ['db-1']],
  ['no room: one at a time anyway', 1, ['db-1']],
])('after the first volume has moved fast, %s', async (_what, count, then) => {
  const rig = await started(count);
  await rig.until(async () => (await leaving(rig)).length > 0, 5_000);
  expect(await leaving(rig)).toEqual(['db-0']);
  await moved(rig, 'db-0');
  expect(await leaving(rig)).toEqual(then);
});

test('without permission to read CSINodes the drain has no limits', async () => {
  const refused =
    (transport: Transport): Transport =>
    async (request) => {
      if (!request.path.includes('/csinodes')) return transport(request);
      const body = { kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message: 'no' };
      return Response.json(body, { status: 403 });
    };
  const rig = await started(2, refused);
  await rig.until(async () => (await leaving(rig)).length > 0, 5_000);
  await moved(rig, 'db-0');
  expect(await leaving(rig)).toEqual(['db-1', 'db-2']);
});

async function untilEmpty(rig: Rig): Promise<{ readonly most: number; readonly rounds: number }> {
  let most = 0;
  for (let rounds = 0; rounds < 60; rounds++) {
    const names = await leaving(rig);
    if (names.length === 0 && (await rig.machine('m-0')) === undefined) return { most, rounds };
    most = Math.max(most, names.length);
    for (const name of names) {
      await rig.admin.resource(pods, NAMESPACE).delete(name, { gracePeriodSeconds: 0 });
      await rig.admin.resource(volumeAttachments).delete(`${name}-m-0`);
      await attach(rig, name, 'm-1');
    }
    await rig.clock.advance(5_000);
  }
  throw new Error('the drain did not end');
}

const TWENTY_TWO = Array.from({ length: 22 }, (_, i) => `db-${String(i).padStart(2, '0')}`);

test('a node with twenty-two pods with volumes is drained as far as the window allows, without a false report about a volume', async () => {
  const rig = await started(undefined, undefined, TWENTY_TWO);
  await rig.until(async () => (await leaving(rig)).length > 0, 5_000);
  const { most, rounds } = await untilEmpty(rig);
  expect(most).toBe(5);
  expect(rounds).toBeLessThan(12);
  expect(await rig.podNames()).toEqual([]);
  expect(rig.cloud.vms.map(({ machineName }) => machineName)).toEqual(['m-1']);
});

test('a node with twenty-two pods with volumes and limited space elsewhere: the volumes in transit never exceed the space', async () => {
  const rig = await started(3, undefined, TWENTY_TWO);
  await rig.until(async () => (await leaving(rig)).length > 0, 5_000);
  const { most } = await untilEmpty(rig);
  expect(most).toBeLessThanOrEqual(3);
  expect(await rig.podNames()).toEqual([]);
});
