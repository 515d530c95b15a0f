import { expect, test } from 'vitest';
import { playMachines } from './machine-history.ts';

/**
 * Files that play seeds beside each other, as many as there are `seeds-*.test.ts`: one for each core of a small machine,
 * as each loads and warms up the whole system anew, which costs as much as thirty seeds.
 */
const SHARDS = 2;
/** `MCM_SEEDS=4000` plays more, `MCM_SEEDS=60` fewer; `MCM_SEED=17` plays one. */
const { MCM_SEEDS = '1000', MCM_SEED } = process.env;

const seedsOf = (shard: number): number[] => {
  const all = MCM_SEED ? [Number(MCM_SEED)] : Array.from({ length: Number(MCM_SEEDS) }, (_, index) => index + 1);
  return all.filter((seed) => seed % SHARDS === shard % SHARDS);
};

/** The tests of one shard, 1 or 2: every seed that leaves it as the rest when divided by their number. */
export function playShard(shard: number): void {
  const seeds = seedsOf(shard);
  test.skipIf(seeds.length === 0)(`shard ${shard} of the seeds`, () => expect(seeds.length).toBeGreaterThan(0));
  test.each(seeds)('seed %i: no machine, VM, pod, budget or volume comes to harm', async (seed) => {
    const { violations, story } = await playMachines(seed);
    expect(violations, `MCM_SEED=${seed} plays this again\n${story}`).toEqual([]);
  });
}
