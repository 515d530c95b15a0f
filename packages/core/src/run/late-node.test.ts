import type { Transport } from '@mcm/kube';
import { expect, test } from 'vitest';
import { createRig } from './testing/start.ts';

/** A stream that says nothing until it is given up. */
const silent = (signal: AbortSignal | undefined): ReadableStream =>
  new ReadableStream({
    start: (stream) => signal?.addEventListener('abort', () => stream.error(signal.reason), { once: true }),
  });

/** No watch of Nodes says anything: what they tell is on its way. */
const deafToNodes =
  (transport: Transport): Transport =>
  (request) =>
    /\/nodes\?.*watch=/.test(request.path) ? Promise.resolve(new Response(silent(request.signal))) : transport(request);

test('a Node that registers while its VM is being deleted goes with its machine, though no watch has told of it', async () => {
  const { rig, requests } = await createRig({
    wrap: deafToNodes,
    joinAfterMs: undefined,
    cloud: {
      gate: async (method, point) => {
        const [vm] = rig.cloud.vms;
        if (method === 'delete' && point === 'before' && vm) await rig.join(vm);
      },
    },
  });
  await rig.createClass();
  rig.start();
  await rig.createMachine('m');
  await rig.until(async () => rig.cloud.made.length === 1, 60_000);
  await rig.clock.advance(1_000);
  await rig.deleteMachine('m');
  await rig.until(async () => (await rig.machines()).length === 0, 60_000);
  expect([rig.cloud.vms, await rig.nodes()]).toEqual([[], []]);
  const looks = requests.filter(({ verb, resource, name }) => `${verb} ${resource} ${name}` === 'get nodes m');
  expect(looks.length).toBeLessThanOrEqual(2);
});
