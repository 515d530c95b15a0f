import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { again, seedsOf } from './seeds.testing.ts';

test.each(seedsOf('leases', 2))(
  '$suite $seed: of two processes only the one that leads writes, however long the other was frozen',
  async (one) => {
    const { violations, story } = await play('leases', one);
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
  },
);

test('a process without a fence that was frozen and writes though another one leads is seen', async () => {
  const { violations } = await play('leases', { seed: 1, profile: 'lan', elected: { unfenced: true } });
  expect(violations).toContainEqual(expect.stringMatching(/^machine-controller-\d+ sends PATCH \S+ though \S+ leads$/));
  expect((await play('leases', { seed: 1, profile: 'lan' })).violations).toEqual([]);
});
