import { thoroughly } from '@mcm/kube/testing';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { POOLS, type PoolAct, playPools } from './pools.testing.ts';

/** Random histories verify the rules for several pools. */

const runs = (count: number) => ({
  numRuns: Number(process.env.MCM_PROPERTY_RUNS ?? count),
  endOnFailure: true,
});

const pool = fc.constantFrom(...POOLS);
const custom = fc.constantFrom('infra' as const, 'edge' as const);
const node = fc.nat(6);
const kind = <K extends string>(name: K) => fc.constant(name);
const act: fc.Arbitrary<PoolAct> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: kind('change'), pool, to: fc.constantFrom('a', 'b', 'c') }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('break'), pool }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('pause'), pool, paused: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('limit'), pool, limit: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('ready'), node, ready: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('join'), pool }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('leave'), node }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('move'), node, to: fc.constantFrom(...POOLS, 'both' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('toggle'), pool: custom }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('die'), node, steps: fc.nat(12), done: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: kind('crash'), requests: fc.nat(12), done: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('harm'), chance: fc.constantFrom(0.1, 0.3, 0.6) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: kind('hold'),
      plural: fc.constantFrom('nodes', 'machineconfigpools', 'machineconfigs'),
      ms: fc.constantFrom(2_000, 20_000, 60_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: kind('cut') }) },
);

test('random histories of nodes and pools break no rule, and after a repair all nodes are updated and nothing is written', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        nodes: fc.record({ worker: fc.integer({ min: 1, max: 3 }), infra: fc.nat(3), edge: fc.nat(2) }),
        limit: fc.integer({ min: 1, max: 2 }),
        haltAt: fc.nat(2),
        single: fc.boolean(),
      }),
      fc.array(fc.tuple(act, fc.constantFrom(0, 500, 3_000, 10_000, 60_000)), { minLength: 3, maxLength: 14 }),
      async (options, acts) => {
        expect(await playPools(options, acts)).toEqual([]);
      },
    ),
    runs(thoroughly(8, 3)),
  );
}, 600_000);
