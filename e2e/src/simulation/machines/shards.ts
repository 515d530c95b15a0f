import { expect, test } from 'vitest';
import { again, seedsOf } from '../suites/seeds.testing.ts';
import { playMachines } from './machine-history.ts';

/** The number of test files `seeds-*.test.ts`. */
const SHARDS = 2;
const CASES = seedsOf('machines', 18);

/** Defines the tests in one of the files `seeds-*.test.ts`. */
export function playShard(shard: number): void {
  const cases = CASES.filter(({ seed }) => seed % SHARDS === shard % SHARDS);
  test.each(cases)('seed $seed: machines, VMs, pods, budgets and volumes have no violation', async (one) => {
    const { violations, story } = await playMachines(one);
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
  });
}
