import { isThorough, sampled } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { again, seedsOf } from './suites/seeds.testing.ts';
import { playCase } from './suites/suites.ts';

/**
 * In the history of seed 555, mcm deleted the Node of an earlier VM repeatedly, because the watch did not deliver the
 * deletion.
 */
const CASES = [
  ...seedsOf('rolls', 4, [555]),
  ...seedsOf('sick', 3),
  ...seedsOf('in-place', 3),
  // One large history takes as long as ten normal histories.
  ...(isThorough ? seedsOf('large', 1) : []),
  ...seedsOf('crds', 2),
  ...seedsOf('disks', 2),
];

test.each(CASES)('$suite $seed: the desired fleet is reached and stays under any fault', async (one) => {
  const { violations, story } = await playCase(one);
  expect(violations, `${again(one)}\n${story}`).toEqual([]);
});

test.each([...seedsOf('scaler', 3), ...seedsOf('groups', 4)])(
  '$suite $seed: only the machines that the autoscaler names are deleted under any fault, and they are not replaced',
  async (one) => {
    const { violations, story } = await playCase(one);
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
  },
);

test('the same seed gives exactly the same history', async () => {
  for (const seed of sampled([7, 8], 2)) {
    const [first, second] = [await play('rolls', { seed }), await play('rolls', { seed })];
    expect(first.history.length).toBeGreaterThan(10_000);
    expect(second.history).toBe(first.history);
  }
});

test('the cloud restarts during requests of its kubelets', async () => {
  const steps = [{ act: 'restart cloud', pauseMs: 70_000, drawn: 3 }];
  const { violations, story } = await play('rolls', {
    seed: 1,
    profile: 'hostile',
    plan: { steps, lastPauseMs: 0, drawn: 4 },
  });
  expect(violations, story).toEqual([]);
});
