import { expect, test } from 'vitest';
import { play } from './random-history.ts';
import { PAUSE_SEEDS } from './seeds.ts';

/** `MCM_PAUSE_SEEDS=100` plays more; `MCM_SEED=30017` plays one. */
const { MCM_PAUSE_SEEDS = '5', MCM_SEED } = process.env;
const seeds = MCM_SEED
  ? [Number(MCM_SEED)]
  : Array.from({ length: Number(MCM_PAUSE_SEEDS) }, (_, index) => PAUSE_SEEDS + 1 + index);

let judged = 0;

test.each(seeds)('seed %i: paused, a rollout makes and deletes no machine, whatever happens', async (seed) => {
  const { violations, story, pauses } = await play(seed);
  judged += pauses;
  expect(violations, `MCM_SEED=${seed} plays this again\n${story}`).toEqual([]);
});

test.skipIf(MCM_SEED)('most of these histories were paused in the middle of a rollout', () => {
  expect(judged).toBeGreaterThan(seeds.length / 2);
});
