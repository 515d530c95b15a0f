import { expect, test } from 'vitest';
import type { RigOptions } from './testing/rig.ts';
import { createRig } from './testing/start.ts';

async function started(options: Partial<RigOptions> = {}) {
  const { rig } = await createRig({ ...options, controller: { readyCondition: true, ...options.controller } });
  await rig.createClass();
  rig.start();
  return rig;
}

const ready = async (rig: Awaited<ReturnType<typeof started>>, name = 'm-1') =>
  (await rig.machine(name))?.status?.conditions?.filter(({ type }) => type === 'Ready');

test('a machine is not ready until its Node joins, and then has the condition of its Node', async () => {
  const rig = await started({ joinAfterMs: 120_000 });
  await rig.createMachine('m-1');
  await rig.until(async () => (await rig.phase('m-1')) === 'Pending');
  expect(await ready(rig)).toEqual([
    {
      type: 'Ready',
      status: 'False',
      reason: 'Pending',
      message: await rig.description('m-1'),
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ]);
  await rig.until(async () => (await rig.phase('m-1')) === 'Running');
  expect(await ready(rig)).toMatchObject([{ status: 'True', reason: 'KubeletReady' }]);
});

test('a machine that does not join is not ready, with the phase as the reason and the time of the first write', async () => {
  const rig = await started({ joinAfterMs: undefined });
  await rig.createMachine('m-1', { creationTimeout: '5m' });
  await rig.until(async () => (await rig.phase('m-1')) === 'Failed');
  expect(await ready(rig)).toMatchObject([
    { status: 'False', reason: 'Failed', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ]);
});

test('the condition adds no write to the creation of a machine', async () => {
  const count = async (readyCondition: boolean) => {
    const { rig, requests } = await createRig({ controller: { readyCondition } });
    await rig.createClass();
    rig.start();
    await rig.createMachine('m-1');
    await rig.until(async () => (await rig.phase('m-1')) === 'Running');
    await rig.clock.advance(10_000);
    return requests.filter(({ method, path }) => method !== 'GET' && path.includes('/m-1')).length;
  };
  expect(await count(true)).toBe(await count(false));
});

test('an unreachable machine keeps the conditions of its Node, without repeated writes', async () => {
  const { rig, requests } = await createRig({ controller: { readyCondition: true } });
  await rig.createClass();
  rig.start();
  await rig.createMachine('m-1');
  await rig.until(async () => (await rig.phase('m-1')) === 'Running');
  await rig.conditions('m-1', [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }]);
  await rig.until(async () => (await rig.phase('m-1')) === 'Unknown');
  requests.length = 0;
  await rig.clock.advance(120_000);
  expect(await ready(rig)).toMatchObject([{ status: 'Unknown', reason: 'NodeStatusUnknown' }]);
  expect(requests.filter(({ method, path }) => method !== 'GET' && path.includes('machines/m-1'))).toEqual([]);
});

test('without the flag, a machine without a Node has no conditions', async () => {
  const rig = await started({ joinAfterMs: undefined, controller: { readyCondition: false } });
  await rig.createMachine('m-1');
  await rig.until(async () => (await rig.phase('m-1')) === 'Pending');
  expect(await ready(rig)).toBeUndefined();
});
