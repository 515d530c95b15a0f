import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { again, seedsOf } from './suites/seeds.testing.ts';

test.each(seedsOf('restores', 4))(
  '$suite $seed: after each restore of the cluster, no VM is lost, deleted without a drain, or created twice',
  async (one) => {
    const { violations, story } = await play('restores', one);
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
  },
);

test('a restore during a short outage is detected although later writes raised the version of the server', async () => {
  const plan = {
    steps: [
      { act: 'silence', pauseMs: 918, drawn: 3 },
      { act: 'restore', pauseMs: 0, drawn: 6 },
      { act: 'roll', pauseMs: 0, drawn: 16 },
    ],
    lastPauseMs: 0,
    drawn: 21,
  };
  const { violations, story } = await play('restores', { seed: 305, profile: 'slow', plan });
  expect(violations, story).toEqual([]);
});
