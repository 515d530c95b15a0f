import { isThorough } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { again, seedsOf } from './suites/seeds.testing.ts';

const cases = seedsOf('zones', 4);
let verified = 0;

test.each(cases)('$suite $seed: zones are balanced once quiet, and no VM is lost or left over', async (one) => {
  const { violations, story, placed } = await play('zones', one);
  verified += placed;
  expect(violations, `${again(one)}\n${story}`).toEqual([]);
});

test.runIf(isThorough)('machines are created in these histories while a zone is evacuated', () => {
  expect(verified).toBeGreaterThan(cases.length);
});
