import { isThorough } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { again, seedsOf } from './suites/seeds.testing.ts';

const cases = seedsOf('capacity', 4);
let verified = 0;

test.each(cases)('$suite $seed: no call requests an offering that is known to be empty', async (one) => {
  const { violations, story, refusals } = await play('capacity', one);
  verified += refusals;
  expect(violations, `${again(one)}\n${story}`).toEqual([]);
});

test.runIf(isThorough)('most of these histories have refused calls', () => {
  expect(verified).toBeGreaterThan(cases.length);
});
