import { isThorough } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { again, seedsOf } from './suites/seeds.testing.ts';

const cases = seedsOf('warm', 6);
let verified = 0;

test.each(cases)('$suite $seed: no warm machine counts as a replica, and no VM is lost or left over', async (one) => {
  const { violations, story, used } = await play('warm', one);
  verified += used;
  expect(violations, `${again(one)}\n${story}`).toEqual([]);
});

test.runIf(isThorough)('sets use warm machines in these histories', () => {
  expect(verified).toBeGreaterThan(cases.length);
});
