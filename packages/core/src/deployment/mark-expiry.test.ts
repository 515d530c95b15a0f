import { Annotations, formatTime } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { World, type WorldOptions } from './testing/world.ts';

const KEY = Annotations.MarkExpiry;
const MINUTE_S = 60;

async function marked(expiry: string | undefined, options: WorldOptions = {}) {
  const world = await World.start(startControlPlane, options);
  await world.deploy(3);
  await world.until(() => world.complete(), 120);
  await world.pass(5);
  const name = (await world.machines())[0]?.metadata.name ?? '';
  const text = `${name}~${formatTime(world.clock.now())}`;
  const annotations = { [KEY]: expiry ?? null, [Annotations.TriggerDeletion]: text };
  await world.change({ metadata: { annotations } });
  await world.pass(5);
  const annotationsOf = async () =>
    (await world.machines()).find(({ metadata }) => metadata.name === name)?.metadata.annotations ?? {};
  const expired = async () => (await world.events()).filter(({ reason }) => reason === 'AutoscalerMarkExpired');
  expect((await annotationsOf())[Annotations.Priority]).toBe('1');
  return { world, name, annotationsOf, expired };
}

test('a mark expires without a reduction of the replicas, and one event reports the expiry', async () => {
  const { world, name, annotationsOf, expired } = await marked('30m');
  await world.pass(29 * MINUTE_S);
  expect((await annotationsOf())[Annotations.Priority]).toBe('1');
  await world.pass(2 * MINUTE_S);
  const { [Annotations.Priority]: priority, [Annotations.MarkedForDeletionTime]: time } = await annotationsOf();
  expect([priority, time]).toEqual(['3', undefined]);
  expect((await world.deployment()).metadata.annotations?.[Annotations.TriggerDeletion]).toBeUndefined();
  expect((await expired()).map(({ message }) => message)).toEqual([
    `mcm removed the deletion marks of ${name}, because spec.replicas was not reduced within 30m0s.`,
  ]);
  await world.pass(30 * MINUTE_S);
  expect([(await world.machines()).length, (await expired()).length]).toEqual([3, 1]);
  await world[Symbol.asyncDispose]();
});

test.each([undefined, 'soon', '0s'])('without a valid expiry, a mark stays: %s', async (expiry) => {
  const { world, annotationsOf, expired } = await marked(expiry);
  await world.pass(180 * MINUTE_S);
  expect((await annotationsOf())[Annotations.Priority]).toBe('1');
  expect(await expired()).toEqual([]);
  await world[Symbol.asyncDispose]();
});

test('a mark deletes its machine if the replicas are reduced before the expiry', async () => {
  const { world, name, expired } = await marked('30m');
  await world.pass(20 * MINUTE_S);
  await world.change({ spec: { replicas: 2 } });
  await world.pass(30 * MINUTE_S);
  expect((await world.machines()).map(({ metadata }) => metadata.name)).not.toContain(name);
  expect([(await world.machines()).length, await expired()]).toEqual([2, []]);
  await world[Symbol.asyncDispose]();
});

test('the priority of an operator never expires', async () => {
  const { world, expired } = await marked('30m');
  const other = (await world.machines())[1]?.metadata.name ?? '';
  await world.patchMachine(other, { metadata: { annotations: { [Annotations.Priority]: '1' } } });
  await world.pass(60 * MINUTE_S);
  const machine = (await world.machines()).find(({ metadata }) => metadata.name === other);
  expect(machine?.metadata.annotations?.[Annotations.Priority]).toBe('1');
  expect(await expired()).toHaveLength(1);
  await world[Symbol.asyncDispose]();
});

async function markedUntil(matches: (request: Request) => boolean, hook: () => Promise<void>) {
  let isDue = false;
  const test = await marked('30m', {
    fault: async (request, answer) => {
      if (!isDue || request.method === 'GET' || !matches(request)) return answer();
      isDue = false;
      await hook();
      return answer();
    },
  });
  await test.world.pass(29 * MINUTE_S);
  isDue = true;
  return { ...test, hasFired: () => !isDue };
}

test('a scale-in between the decision about the expiry and its first write deletes the marked machine', async () => {
  const scaleIn: (() => Promise<void>)[] = [];
  const { world, name, expired, hasFired } = await markedUntil(
    ({ url }) => url.includes('/machinedeployments/'),
    async () => scaleIn[0]?.(),
  );
  scaleIn.push(async () => world.change({ spec: { replicas: 2 } }));
  await world.pass(10 * MINUTE_S);
  expect(hasFired()).toBe(true);
  expect((await world.machines()).map(({ metadata }) => metadata.name)).not.toContain(name);
  expect([(await world.machines()).length, await expired()]).toEqual([2, []]);
  await world[Symbol.asyncDispose]();
});

test('after a failed write, the expiry continues', async () => {
  const { world, annotationsOf, expired, hasFired } = await markedUntil(
    ({ url }) => url.includes('/machines/'),
    async () => Promise.reject(new Error('connection reset')),
  );
  await world.pass(10 * MINUTE_S);
  expect(hasFired()).toBe(true);
  expect((await annotationsOf())[Annotations.Priority]).toBe('3');
  expect([(await world.machines()).length, (await expired()).length]).toEqual([3, 1]);
  await world[Symbol.asyncDispose]();
});
