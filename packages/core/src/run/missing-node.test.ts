import type { Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { startRig } from './testing/start.ts';

const MINUTE = 60_000;

test('a deletion sends few requests for a Node that only an outdated cache contains', async () => {
  let missing = false;
  let refused = 0;
  const wrap =
    (transport: Transport): Transport =>
    (request) => {
      if (!missing || request.method !== 'PATCH' || !request.path.startsWith('/api/v1/nodes/'))
        return transport(request);
      refused += 1;
      // A controller that repeats the request without a pause stops the virtual clock. After 100 refusals, the API
      // server accepts the request, so the test ends.
      if (refused > 100) missing = false;
      return Promise.resolve(new Response('{"kind":"Status","code":404,"reason":"NotFound"}', { status: 404 }));
    };
  const rig = await startRig({ wrap });
  await rig.createMachine('m-0');
  await rig.until(async () => (await rig.phase('m-0')) === 'Running');
  missing = true;
  await rig.deleteMachine('m-0');
  await rig.clock.advance(MINUTE);
  expect(refused).toBeGreaterThan(0);
  expect(refused).toBeLessThanOrEqual(26);
  expect([(await rig.machines()).length, rig.cloud.vms.length]).toEqual([1, 1]);
  missing = false;
  await rig.until(async () => (await rig.machines()).length === 0, MINUTE);
  expect(rig.cloud.vms).toEqual([]);
});
