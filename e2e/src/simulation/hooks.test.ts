import { isThorough } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { again, seedsOf } from './suites/seeds.testing.ts';

const cases = seedsOf('hooks', 4);
let verified = 0;

test.each(cases)('$suite $seed: no machine passes a stage before its hooks have ended', async (one) => {
  const { violations, story, hooked } = await play('hooks', one);
  verified += hooked;
  expect(violations, `${again(one)}\n${story}`).toEqual([]);
});

test.runIf(isThorough)('hooks of these histories end', () => {
  expect(verified).toBeGreaterThan(10 * cases.length);
});
