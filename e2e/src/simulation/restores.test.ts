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
