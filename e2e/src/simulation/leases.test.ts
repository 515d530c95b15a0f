import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { again, seedsOf } from './suites/seeds.testing.ts';

test.each(seedsOf('leases', 2))(
  '$suite $seed: only the leader writes, regardless of how long the other process was frozen',
  async (one) => {
    const { violations, story } = await play('leases', one);
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
  },
);

test('a write of a frozen process without a fence, while another one leads, is reported', async () => {
  const { violations } = await play('leases', { seed: 1, profile: 'lan', elected: { unfenced: true } });
  expect(violations).toContainEqual(expect.stringMatching(/^machine-controller-\d+ sends PATCH \S+ though \S+ leads$/));
  expect((await play('leases', { seed: 1, profile: 'lan' })).violations).toEqual([]);
});

test('a set that completes its scale-in after a user deleted another machine breaks no rule', async () => {
  const { violations, story } = await play('leases', { seed: 8114, profile: 'slow' });
  expect(violations, story).toEqual([]);
});
