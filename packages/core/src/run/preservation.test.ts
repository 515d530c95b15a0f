import type { RequestLogEntry } from '@mcm/control-plane';
import { nodes } from '@mcm/kube';
import { expect, test } from 'vitest';
import { USER_AGENT } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

const SICK = [{ type: 'Ready', status: 'False', reason: 'KubeletDown', lastTransitionTime: '2026-01-01T00:00:00Z' }];
const READY = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', lastTransitionTime: '2026-01-01T00:00:00Z' }];

test('a Failed machine that its Node asks to preserve is drained and kept until it recovers or expires, without events', async () => {
  const { rig, requests } = await createRig();
  const own = (): readonly RequestLogEntry[] =>
    requests.filter((e) => e.userAgent?.includes(USER_AGENT) && e.verb !== 'watch' && e.resource !== 'events');
  const expiry = async (): Promise<string | null | undefined> =>
    (await rig.machine('m'))?.status?.currentStatus?.preserveExpiryTime;
  const look = async () => {
    const [node] = await rig.nodes();
    return {
      condition: node?.status?.conditions?.find(({ type }) => type === 'Preserved'),
      taints: (node?.spec.taints ?? []).map(({ key }) => key).filter((key) => key.includes('preserved')),
      annotations: node?.metadata.annotations ?? {},
      cordoned: node?.spec.unschedulable ?? false,
    };
  };
  const ask = (value: string | null): Promise<unknown> =>
    rig.admin.resource(nodes).patch('m', {
      type: 'merge',
      body: { metadata: { annotations: { 'node.machine.sapcloud.io/preserve': value } } },
    });

  await rig.createClass();
  rig.start();
  await rig.createMachine('m', { machinePreserveTimeout: '2h' });
  await rig.until(async () => (await rig.phase('m')) === 'Running');
  await rig.createPod('a', 'm');
  await ask('when-failed');
  await rig.clock.advance(5_000);
  expect(await expiry()).toBeUndefined();

  await rig.conditions('m', SICK);
  await rig.until(async () => (await rig.phase('m')) === 'Failed');
  await rig.until(async () => (await look()).condition?.status === 'True', 60_000);
  expect((await look()).condition?.message).toMatch(/^Preserved node drained successfully\. Machine preserved until /);
  expect(await look()).toMatchObject({ taints: ['node.machine.sapcloud.io/preserved'], cordoned: false });
  expect((await look()).annotations['cluster-autoscaler.kubernetes.io/scale-down-disabled']).toBe('true');
  expect(await rig.podNames()).toEqual([]);
  const until = await expiry();
  expect(until).toBeDefined();

  await rig.kill();
  rig.start();
  await rig.clock.advance(5_000);
  requests.length = 0;
  await rig.clock.advance(40_000);
  expect(own()).toEqual([]);
  expect(await expiry()).toBe(until);

  await rig.conditions('m', READY);
  await rig.until(async () => (await rig.phase('m')) === 'Running' && !(await expiry()), 60_000);
  expect(await look()).toMatchObject({ taints: [], cordoned: false });
  expect((await look()).annotations['cluster-autoscaler.kubernetes.io/scale-down-disabled']).toBeUndefined();

  await ask('now');
  await rig.until(async () => Boolean(await expiry()), 5_000);
  await rig.until(async () => !(await expiry()), 3 * 3_600_000);
  expect((await look()).annotations['node.machine.sapcloud.io/preserve']).toBeUndefined();
  expect((await look()).condition).toMatchObject({ status: 'False', reason: 'Preservation stopped.' });
  requests.length = 0;
  await rig.clock.advance(30_000);
  expect(own()).toEqual([]);
});
