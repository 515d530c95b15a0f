import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { again, seedsOf } from './seeds.testing.ts';
import { playCase } from './suites.ts';

/** 555: a Node left over from an earlier VM is deleted while no watch tells of it. It was deleted again and again without end. */
const CASES = [
  ...seedsOf('rolls', 25, [555]),
  ...seedsOf('sick', 15),
  ...seedsOf('in-place', 10),
  ...seedsOf('large', 2),
];

test.each(CASES)('$suite $seed: the desired fleet is reached and stays under any fault', async (one) => {
  const { violations, story } = await playCase(one);
  expect(violations, `${again(one)}\n${story}`).toEqual([]);
});

test.each(seedsOf('scaler', 15))(
  '$suite $seed: only the machines that the autoscaler names are deleted under any fault, and they are not replaced',
  async (one) => {
    const { violations, story } = await playCase(one);
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
  },
);

test('the same seed gives the same history, to the byte', async () => {
  for (const seed of [7, 8]) {
    const [first, second] = [await play('rolls', { seed }), await play('rolls', { seed })];
    expect(first.history.length).toBeGreaterThan(10_000);
    expect(second.history).toBe(first.history);
  }
});

test('the cloud ends while requests of its kubelets are under way, and comes back', async () => {
  const steps = [{ act: 'restart cloud', pauseMs: 70_000, drawn: 3 }];
  const { violations, story } = await play('rolls', {
    ...{ seed: 1, profile: 'hostile', plan: { steps, lastPauseMs: 0, drawn: 4 } },
  });
  expect(violations, story).toEqual([]);
});
