import type { Transport, TransportRequest } from '@mcm/kube';
import { thoroughly } from '@mcm/kube/testing';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { annotationOf } from '../conditions/predicates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { machineConfigs } from '../kinds/resources.ts';
import { POOLS, type PoolAct, type PoolsOptions, PoolsWorld, playPools } from './pools.testing.ts';
import { notRecovered, unnecessaryWrites } from './rest.testing.ts';

const MINUTE = 60_000;

function nodeWriteOf({ method, path, body = '' }: TransportRequest) {
  const [, name] = /\/nodes\/([^/?]+)/.exec(path) ?? [];
  return method === 'PATCH' && name !== undefined ? { name, body } : undefined;
}

/** Reports each write that gives a node a target that does not exist on the API server. */
function observedWrites() {
  const problems: string[] = [];
  const cordons: string[] = [];
  const cordoned = new Set<string>();
  const broken =
    (transport: Transport, world: () => PoolsWorld): Transport =>
    async (request) => {
      const write = nodeWriteOf(request);
      const [, desired] = /"[^"]*desiredConfig":"([^"]+)"/.exec(write?.body ?? '') ?? [];
      if (write && desired !== undefined) {
        const { items } = await world().client.resource(machineConfigs).list();
        const exists = items.some(({ metadata }) => metadata.name === desired);
        if (!exists) problems.push(`${write.name} gets the missing target ${desired}`);
      }
      const [, isCordon] = /"unschedulable":(true|false)/.exec(write?.body ?? '') ?? [];
      if (write && isCordon === 'true') cordons.push([write.name, ...cordoned].join(' with '));
      if (write && isCordon === 'true') cordoned.add(write.name);
      if (write && isCordon === 'false') cordoned.delete(write.name);
      return transport(request);
    };
  const options: PoolsOptions = { broken };
  return { options, problems, cordons };
}

const configsOf = async (world: PoolsWorld): Promise<readonly string[]> =>
  (await world.nodes()).map((node) => annotationOf(node, NodeAnnotations.CurrentConfig));

const versionsOf = (pools: readonly MachineConfigPool[]) =>
  pools.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).toSorted();

test.each([
  { when: 'while the controllers run', down: false, bump: false },
  { when: 'while the controllers run, with raised versions', down: false, bump: true },
  { when: 'while the controllers are down', down: true, bump: false },
])('nodes return to the restored configuration one after another after a restore $when', async ({ down, bump }) => {
  const { options, problems, cordons } = observedWrites();
  const world = await PoolsWorld.start({ ...options, nodes: { worker: 3 } });
  try {
    const { clock } = world.world;
    const before = await configsOf(world);
    await world.act({ kind: 'backup' });
    await world.act({ kind: 'change', pool: 'worker', to: 'b' });
    await clock.advance(30 * MINUTE);
    expect(await configsOf(world)).not.toEqual(before);
    const uids = (await world.nodes()).map(({ metadata }) => metadata.uid);
    cordons.length = 0;
    if (down) await world.world.crash();
    await world.act({ kind: 'restore', bump });
    if (down) world.world.start();
    await clock.advance(5_000);
    const cached = world.world.context.caches.pools.store.list();
    expect(versionsOf(cached)).toEqual(versionsOf(await world.pools()));
    await clock.advance(40 * MINUTE);
    expect(await configsOf(world)).toEqual(before);
    expect(cordons.toSorted()).toEqual(['n0', 'n1', 'n2']);
    expect((await world.nodes()).map(({ metadata }) => metadata.uid)).toEqual(uids);
    expect([
      ...problems,
      ...world.verifier.problems,
      ...(await notRecovered(world)),
      ...(await unnecessaryWrites(world)),
    ]).toEqual([]);
  } finally {
    await world.end();
  }
});

test('after a restore, the controllers write nothing until all caches show the restored state', async () => {
  let held: PromiseWithResolvers<void> | undefined;
  const writes: string[] = [];
  const broken =
    (transport: Transport): Transport =>
    async (request) => {
      const { method, path } = request;
      if (held && method !== 'GET') writes.push(`${method} ${path}`);
      const isListOfPools = method === 'GET' && path.includes('/machineconfigpools?') && !path.includes('watch=');
      if (held && isListOfPools) await held.promise;
      return transport(request);
    };
  const world = await PoolsWorld.start({ broken, nodes: { worker: 3 } });
  try {
    const { clock } = world.world;
    const before = await configsOf(world);
    await world.act({ kind: 'backup' });
    await world.act({ kind: 'change', pool: 'worker', to: 'b' });
    await clock.advance(30 * MINUTE);
    held = Promise.withResolvers();
    await world.act({ kind: 'restore', bump: false });
    await clock.advance(MINUTE);
    expect(writes).toEqual([]);
    held.resolve();
    held = undefined;
    await clock.advance(40 * MINUTE);
    expect(await configsOf(world)).toEqual(before);
  } finally {
    held?.resolve();
    await world.end();
  }
});

const pool = fc.constantFrom(...POOLS);
const node = fc.nat(6);
const act: fc.Arbitrary<PoolAct> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('change' as const), pool, to: fc.constantFrom('a', 'b', 'c') }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('backup' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('restore' as const), bump: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('join' as const), pool }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), node }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('move' as const), node, to: fc.constantFrom(...POOLS) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('toggle' as const),
      pool: fc.constantFrom('infra' as const, 'edge' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('crash' as const), requests: fc.nat(12), done: fc.boolean() }),
  },
);

test('after restores at any point of a history, pools recover and the writes end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(act, fc.constantFrom(0, 500, 3_000, 10_000, 60_000)), { minLength: 3, maxLength: 12 }),
      async (acts) => {
        const { options, problems } = observedWrites();
        const seen = await playPools({ ...options, nodes: { worker: 2, infra: 1, edge: 1 } }, acts);
        expect([...problems, ...seen]).toEqual([]);
      },
    ),
    { numRuns: Number(process.env.MCM_PROPERTY_RUNS ?? thoroughly(6, 2)), endOnFailure: true },
  );
}, 600_000);
