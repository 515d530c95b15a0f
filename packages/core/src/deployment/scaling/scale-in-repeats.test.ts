import { Annotations } from '@mcm/api';
import { startControlPlane } from '@mcm/control-plane';
import { expect, test } from 'vitest';
import { World } from '../testing/world.ts';
import { scaleInResults } from './scale-in.ts';

const refused = Response.json({ kind: 'Status', apiVersion: 'v1', reason: 'Conflict', code: 409 }, { status: 409 });

/** The writes of sets fail until `open` is called. */
async function start(replicas: number) {
  let blocked = false;
  const world = await World.start(startControlPlane, {
    fault: async (request, answer) => {
      const isSet = /\/machinesets\/[^/]+$/.test(new URL(request.url).pathname);
      return blocked && request.method === 'PUT' && isSet ? refused.clone() : answer();
    },
  });
  await world.deploy(replicas);
  await world.until(() => world.complete(), 120);
  await world.pass(5);
  const names = (await world.machines()).map(({ metadata }) => metadata.name).sort();
  return { world, names, block: (is: boolean) => (blocked = is) };
}

const request = (requestID: string, machines: readonly string[], from: number) => {
  const to = from - machines.length;
  const text = JSON.stringify({ requestID, machines, from, to });
  return { metadata: { annotations: { [Annotations.ScaleIn]: text } }, spec: { replicas: to } };
};

async function outcome(world: World) {
  const stored = await world.deployment();
  return {
    replicas: stored.spec.replicas,
    results: scaleInResults(stored).map((result) => `${result.requestID} ${result.outcome}`),
    left: (await world.machines()).map(({ metadata }) => metadata.name).sort(),
  };
}

test('a request that is repeated before the set shrinks does not undo itself', async () => {
  const { world, names, block } = await start(4);
  await using _ = world;
  const [a = '', ...rest] = names;
  block(true);
  await world.change(request('r1', [a], 4));
  await world.pass(2);
  await world.change(request('r1', [a], 4));
  await world.pass(2);
  block(false);
  await world.pass(60);
  expect(await outcome(world)).toEqual({ replicas: 3, results: ['r1 Accepted'], left: rest });
});

test.each([false, true])(
  'a second request before the set shrinks is accepted too, after a restart: %s',
  async (restarts) => {
    const { world, names, block } = await start(4);
    await using _ = world;
    const [a = '', b = '', ...rest] = names;
    block(true);
    await world.change(request('r1', [a], 4));
    await world.pass(2);
    await world.change(request('r2', [b], 3));
    if (restarts) await world.restart();
    await world.pass(2);
    block(false);
    await world.pass(60);
    expect(await outcome(world)).toEqual({ replicas: 2, results: ['r2 Accepted', 'r1 Accepted'], left: rest });
  },
);

test('a machine of an accepted request cannot be named again', async () => {
  const { world, names, block } = await start(4);
  await using _ = world;
  const [a = '', ...rest] = names;
  block(true);
  await world.change(request('r1', [a], 4));
  await world.pass(2);
  await world.change(request('r2', [a], 3));
  await world.pass(2);
  block(false);
  await world.pass(60);
  expect(await outcome(world)).toEqual({ replicas: 3, results: ['r2 Refused', 'r1 Accepted'], left: rest });
});
