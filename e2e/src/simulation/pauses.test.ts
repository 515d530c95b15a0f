import { isThorough } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { again, seedsOf } from './suites/seeds.testing.ts';

const cases = seedsOf('pauses', 6);
let verified = 0;

test.each(cases)('$suite $seed: a paused rollout creates and deletes no machine under any fault', async (one) => {
  const { violations, story, holds } = await play('pauses', one);
  verified += holds;
  expect(violations, `${again(one)}\n${story}`).toEqual([]);
});

test.runIf(isThorough)('most of these histories were paused during a rollout', () => {
  expect(verified).toBeGreaterThan(cases.length / 2);
});
