import { expect, test } from 'vitest';
import { again, seedsOf } from '../suites/seeds.testing.ts';
import { playMachines } from './machine-history.ts';

/**
 * The number of files `seeds-*.test.ts`. The files run in parallel, one for each core of a computer with two cores.
 * Each file loads the whole system, which costs as much as thirty seeds.
 */
const SHARDS = 2;
const CASES = seedsOf('machines', 24);

/** Defines the tests of shard 1 or 2. The remainder of a seed determines its shard. */
export function playShard(shard: number): void {
  const cases = CASES.filter(({ seed }) => seed % SHARDS === shard % SHARDS);
  test.each(cases)('seed $seed: machines, VMs, pods, budgets and volumes have no violation', async (one) => {
    const { violations, story } = await playMachines(one);
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
  });
}
