import { Annotations } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { controllerOf, sleep } from '@mcm/kube';
import { expect, test } from 'vitest';
import { World } from './testing/world.ts';

const KEEPS_ONE = { [Annotations.WarmMachines]: '1', [Annotations.WarmState]: 'Running' };

const warmOf = async (world: World) =>
  (await world.machines()).filter(({ metadata }) => metadata.annotations?.[Annotations.WarmState] !== undefined);

const refusal = () =>
  Response.json({ kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message: 'no' }, { status: 403 });

test('a manager without the permission for the status creates a new machine, and the warm one stays', async () => {
  await using world = await World.start(startControlPlane, {
    fault: async (request, answer) =>
      request.method === 'PATCH' && /\/machines\/[^/]+\/status/.test(request.url) ? refusal() : answer(),
  });
  await world.deploy(2, {}, { annotations: KEEPS_ONE });
  await world.until(async () => (await world.machines()).length === 3 && world.available() === 3, 600);
  const [warm] = await warmOf(world);
  await world.change({ spec: { replicas: 3 } });
  await world.until(async () => (await world.machines()).length === 4 && world.available() === 4, 600);
  expect((await warmOf(world)).map(({ metadata }) => metadata.uid)).toEqual([warm?.metadata.uid]);
  expect(world.log.lines.map(({ message }) => message)).toContain('Warm machine not used; creating a new one');
});

test('a paused deployment creates no warm machines, and keeps those that it has', async () => {
  await using world = await World.start(startControlPlane);
  await world.deploy(2, { paused: true }, { annotations: KEEPS_ONE });
  await world.pass(60);
  expect(await warmOf(world)).toEqual([]);
  await world.change({ spec: { paused: false } });
  await world.until(async () => (await warmOf(world)).length === 1 && world.available() === 3, 600);
  await world.change({ spec: { paused: true, template: { metadata: { labels: { version: '2' } } } } });
  const [warm] = await warmOf(world);
  await world.pass(600);
  expect((await warmOf(world)).map(({ metadata }) => metadata.uid)).toEqual([warm?.metadata.uid]);
});

test('the name of a warm machine that is deleted before the lost response is not used again', async () => {
  const names: string[] = [];
  let creations = 0;
  await using world: World = await World.start(startControlPlane, {
    fault: async (request, answer, clock) => {
      if (request.method !== 'POST' || !new URL(request.url).pathname.endsWith('/machines')) return answer();
      creations += 1;
      const response = await answer();
      if (creations > 1) return response;
      for (const { metadata } of await warmOf(world)) await world.deleteMachine(metadata.name);
      await sleep(clock, 1_000);
      throw new TypeError('reset');
    },
  });
  world.truth.onChange(({ type, object }) => type === 'added' && names.push(object.metadata.name));
  await world.deploy(0, {}, { annotations: KEEPS_ONE });
  await world.until(async () => (await warmOf(world)).length === 1 && world.available() === 1, 600);
  expect([names.length, new Set(names).size]).toEqual([2, 2]);
});

test.each([0, 1, 2, 3, 4])(
  'a manager that stops after write %i of a scale-up: the next one uses the warm machine once, and fills the pool',
  async (last) => {
    let writes: number | undefined;
    await using world = await World.start(startControlPlane, {
      fault: async (request, answer) => {
        if (request.method === 'GET' || writes === undefined) return answer();
        if (writes++ >= last) throw new Error('killed');
        return answer();
      },
    });
    await world.deploy(1, {}, { annotations: KEEPS_ONE });
    await world.until(async () => (await world.machines()).length === 2 && world.available() === 2, 600);
    const [warm] = await warmOf(world);
    writes = 0;
    await world.change({ spec: { replicas: 2 } });
    await world.pass(1);
    world.beforeRestart = () => {
      writes = undefined;
    };
    await world.restart();
    const used = async () => (await world.machines()).find(({ metadata }) => metadata.uid === warm?.metadata.uid);
    await world.until(async () => controllerOf((await used()) ?? { metadata: {} })?.kind === 'MachineSet', 600);
    expect((await used())?.status?.currentStatus?.phase).toBe('Pending');
    await world.pass(60);
    expect(await warmOf(world)).toHaveLength(1);
    expect(await world.machines()).toHaveLength(3);
  },
);
