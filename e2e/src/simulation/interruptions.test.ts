import { isThorough } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { again, seedsOf } from './suites/seeds.testing.ts';

const cases = seedsOf('interruptions', 10);
let verified = 0;

test.each(cases)(
  '$suite $seed: no timely notice of the cloud is missed, and no VM is lost or left over',
  async (one) => {
    const { violations, story, interruptions } = await play('interruptions', one);
    verified += interruptions;
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
  },
);

// A plain run has too few histories for this condition.
test.runIf(isThorough)('most of these histories have interruptions of machines', () => {
  expect(verified).toBeGreaterThan(cases.length);
});
