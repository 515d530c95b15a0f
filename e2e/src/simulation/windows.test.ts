import { isThorough } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { again, seedsOf } from './suites/seeds.testing.ts';

const cases = seedsOf('windows', 4);
let verified = 0;

test.each(cases)('$suite $seed: a rollout acts only in its windows and spares nodes that postpone', async (one) => {
  const { violations, story, holds } = await play('windows', one);
  verified += holds;
  expect(violations, `${again(one)}\n${story}`).toEqual([]);
});

test.runIf(isThorough)('most of these histories have a closed window during a rollout', () => {
  expect(verified).toBeGreaterThan(cases.length / 2);
});
