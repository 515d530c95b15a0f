import { type Machine, machines } from '@mcm/api';
import type { RequestLogEntry } from '@mcm/control-plane';
import { pods, type Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { ORPHAN_DEFAULTS } from '../safety/orphans/orphan-options.ts';
import { NAMESPACE, type Rig, USER_AGENT } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

const DRAIN_KINDS = [
  'csinodes',
  'persistentvolumeclaims',
  'persistentvolumes',
  'poddisruptionbudgets',
  'pods',
  'volumeattachments',
];
const LINGER_MS = 5 * 60_000;

async function started(wrap?: (transport: Transport) => Transport): Promise<{ rig: Rig; requests: RequestLogEntry[] }> {
  // The drain of an orphan VM would keep the caches open after the deletion of the machine.
  const orphans = { ...ORPHAN_DEFAULTS, policy: 'report' } as const;
  const { rig, requests } = await createRig({ controller: { onDemand: true, orphans }, ...(wrap ? { wrap } : {}) });
  await rig.createClass();
  rig.start();
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  return { rig, requests };
}

const asked = (requests: readonly RequestLogEntry[], verb: string): readonly string[] =>
  [...new Set(requests.filter((e) => e.userAgent?.includes(USER_AGENT) && e.verb === verb).map((e) => e.resource))]
    .filter((resource) => DRAIN_KINDS.includes(resource ?? ''))
    .map(String)
    .sort();

function heldLists() {
  const held = Promise.withResolvers<void>();
  const wrap =
    (transport: Transport): Transport =>
    async (request) => {
      const isList = request.path.startsWith('/api/v1/pods?') && !request.path.includes('watch=');
      if (isList)
        await new Promise<void>((resolve, reject) => {
          request.signal?.addEventListener('abort', () => reject(request.signal?.reason), { once: true });
          void held.promise.then(resolve);
        });
      return transport(request);
    };
  return { wrap, answer: held.resolve };
}

async function endPods(rig: Rig): Promise<void> {
  const client = rig.admin.resource(pods, NAMESPACE);
  for (const pod of (await client.list()).items)
    if (pod.metadata.deletionTimestamp) await client.delete(pod.metadata.name, { gracePeriodSeconds: 0 });
}

test('a cluster without drains reads no pods and volumes, and a drain opens and closes their caches', async () => {
  const { rig, requests } = await started();
  await rig.createPod('a', 'm-0');
  await rig.clock.advance(600_000);
  expect([asked(requests, 'list'), asked(requests, 'watch')]).toEqual([[], []]);
  expect(rig.controller?.quiet()).toBe(true);
  await rig.deleteMachine('m-0');
  await rig.until(
    async () => (await rig.admin.resource(pods, NAMESPACE).list()).items.every((p) => p.metadata.deletionTimestamp),
    1_000,
  );
  expect(await rig.description('m-0')).toBe('Evicting default/a. Initiate node drain');
  expect(asked(requests, 'list')).toEqual(DRAIN_KINDS);
  await rig.clock.advance(60_000);
  expect([rig.cloud.vms.length, rig.controller?.idle(), rig.controller?.quiet()]).toEqual([1, true, false]);
  await endPods(rig);
  await rig.until(async () => (await rig.machines()).length === 0, 1_000);
  expect(rig.cloud.vms).toEqual([]);
  await rig.clock.advance(LINGER_MS);
  expect(rig.controller?.quiet()).toBe(true);
  requests.length = 0;
  await rig.clock.advance(3_600_000);
  expect([asked(requests, 'list'), asked(requests, 'watch')]).toEqual([[], []]);
  expect(rig.controller?.caches.target?.pods.store.size).toBe(0);
});

test('while the list of pods is not complete, a deletion does not start, and the VM stays', async () => {
  const { wrap, answer } = heldLists();
  const { rig } = await started(wrap);
  await rig.createPod('a', 'm-0');
  await rig.deleteMachine('m-0');
  await rig.clock.advance(600_000);
  expect((await rig.machine('m-0'))?.status?.currentStatus?.phase).toBe('Running');
  expect(rig.cloud.vms).toHaveLength(1);
  answer();
  await rig.until(
    async () => (await rig.admin.resource(pods, NAMESPACE).list()).items.every((p) => p.metadata.deletionTimestamp),
    5_000,
  );
  expect(rig.cloud.vms).toHaveLength(1);
  await endPods(rig);
  await rig.until(async () => (await rig.machines()).length === 0, 1_000);
});

test('with force-deletion, a machine waits at most 10 seconds for the list of pods', async () => {
  const { wrap } = heldLists();
  const { rig } = await started(wrap);
  await rig.createPod('a', 'm-0');
  const forced = { metadata: { labels: { 'force-deletion': 'True' } } };
  await rig.admin.resource<Machine>(machines, NAMESPACE).patch('m-0', { type: 'merge', body: forced });
  await rig.deleteMachine('m-0');
  await rig.clock.advance(9_000);
  expect(rig.cloud.vms).toHaveLength(1);
  await rig.until(async () => (await rig.machines()).length === 0, 5_000);
  expect(rig.cloud.vms).toEqual([]);
});

test('the second drain of a cluster sees the pods that started after the first drain', async () => {
  const { rig } = await started();
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await rig.machines()).length === 0, 5_000);
  await rig.clock.advance(2 * LINGER_MS);
  await rig.createMachine('m-1');
  await rig.until(async () => (await rig.machines()).every((m) => m.status?.currentStatus?.phase === 'Running'));
  await rig.createPod('b', 'm-1');
  await rig.deleteMachine('m-1');
  await rig.clock.advance(60_000);
  expect(await rig.description('m-1')).toContain('default/b');
  expect(rig.cloud.vms).toHaveLength(1);
});

test('the caches close if a user removes the finalizers of a draining machine', async () => {
  const { rig, requests } = await started();
  await rig.createPod('a', 'm-0');
  await rig.deleteMachine('m-0');
  await rig.until(async () => (await rig.description('m-0')).startsWith('Evicting'));
  const body = { metadata: { finalizers: null } };
  await rig.admin.resource<Machine>(machines, NAMESPACE).patch('m-0', { type: 'merge', body });
  await rig.clock.advance(2 * LINGER_MS);
  requests.length = 0;
  await rig.clock.advance(3_600_000);
  expect(asked(requests, 'watch')).toEqual([]);
});
