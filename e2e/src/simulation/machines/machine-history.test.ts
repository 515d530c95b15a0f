import { expect, test } from 'vitest';
import { playMachines } from './machine-history.ts';

/** `MCM_SEEDS=1000` plays more; `MCM_SEED=17` plays one. */
const { MCM_SEEDS = '150', MCM_SEED } = process.env;
const seeds = MCM_SEED ? [Number(MCM_SEED)] : Array.from({ length: Number(MCM_SEEDS) }, (_, index) => index + 1);

test.each(seeds)('seed %i: no machine, VM, pod, budget or volume comes to harm', async (seed) => {
  const { violations, story } = await playMachines(seed);
  expect(violations, `MCM_SEED=${seed} plays this again\n${story}`).toEqual([]);
});

test('the same seed gives the same history, to the byte', async () => {
  for (const seed of [7, 8, 9]) {
    const [first, second] = [await playMachines(seed), await playMachines(seed)];
    expect(first.history.length).toBeGreaterThan(10_000);
    expect(second.history).toBe(first.history);
  }
});
