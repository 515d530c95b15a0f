import { expect, test } from 'vitest';
import { again, seedsOf } from '../suites/seeds.testing.ts';
import { playMachines } from './machine-history.ts';

/**
 * The number of test files `seeds-*.test.ts`. The files run in parallel, so a computer with two cores runs one file on
 * each core. Each file loads the whole system, which takes as long as thirty seeds.
 */
const SHARDS = 2;
const CASES = seedsOf('machines', 24);

/** Defines the tests in one of the files `seeds-*.test.ts`. The remainder of a seed determines its file. */
export function playShard(shard: number): void {
  const cases = CASES.filter(({ seed }) => seed % SHARDS === shard % SHARDS);
  test.each(cases)('seed $seed: machines, VMs, pods, budgets and volumes have no violation', async (one) => {
    const { violations, story } = await playMachines(one);
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
  });
}
