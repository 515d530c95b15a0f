import { isThorough } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { playVolumes } from './machines/machine-history.ts';
import { again, seedsOf } from './suites/seeds.testing.ts';

/** Features that are off by default, and features with their own verifier. */
const FLEETS = ['canary', 'buffers', 'reports', 'budgets', 'journal'] as const;
const verified = new Map<string, number>();

const cases = FLEETS.flatMap((mode) => seedsOf(mode, 3).map((one) => ({ ...one, mode })));

test.each(cases)('$suite $seed: the feature decides correctly under any fault', async ({ mode, ...one }) => {
  const { violations, story, optedIn } = await play(mode, one);
  verified.set(mode, (verified.get(mode) ?? 0) + optedIn);
  expect(violations, `${again(one)}\n${story}`).toEqual([]);
});

test.each(seedsOf('volumes', 4, [5]))('$suite $seed: the drains share the limit of moving volumes', async (one) => {
  const { violations, story, volumes } = await playVolumes(one);
  verified.set('volumes', (verified.get('volumes') ?? 0) + volumes);
  expect(violations, `${again(one)}\n${story}`).toEqual([]);
});

test.runIf(isThorough)('the histories contain decisions of each feature', () => {
  for (const suite of [...FLEETS, 'volumes']) expect(verified.get(suite), suite).toBeGreaterThan(0);
});
