import { pods, type Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { NAMESPACE } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

const MINUTE = 60_000;

test('a VM is kept while the watch of pods is interrupted, and a pod that the watch missed is evicted', async () => {
  let isDown = false;
  const lines = new Set<AbortController>();
  const wrap =
    (transport: Transport): Transport =>
    (request) => {
      if (!/\/api\/v1\/pods\?/.test(request.path)) return transport(request);
      if (isDown) return Promise.reject(new TypeError('connection refused'));
      const line = new AbortController();
      lines.add(line);
      return transport({
        ...request,
        signal: AbortSignal.any([line.signal, ...(request.signal ? [request.signal] : [])]),
      });
    };
  const { rig } = await createRig({ wrap });
  await rig.createClass();
  rig.start();
  await rig.createMachine('m');
  await rig.until(async () => (await rig.phase('m')) === 'Running');
  isDown = true;
  for (const line of lines) line.abort(new TypeError('reset'));
  await rig.clock.advance(1_000);
  await rig.createPod('web', 'm');
  await rig.deleteMachine('m');
  await rig.clock.advance(MINUTE);
  expect([rig.cloud.vms.length, await rig.podNames()]).toEqual([1, ['web']]);
  isDown = false;
  const isLeaving = async (): Promise<boolean> =>
    (await rig.admin.resource(pods, NAMESPACE).get('web')).metadata.deletionTimestamp !== undefined;
  await rig.until(isLeaving, 10 * MINUTE);
  expect(rig.cloud.vms).toHaveLength(1);
  await rig.admin.resource(pods, NAMESPACE).delete('web', { gracePeriodSeconds: 0 });
  await rig.until(async () => rig.cloud.vms.length === 0, MINUTE);
});
