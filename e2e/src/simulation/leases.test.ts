import { expect, test } from 'vitest';
import { play } from './histories/random-history.ts';
import { again, seedsOf } from './suites/seeds.testing.ts';

test.each(seedsOf('leases', 4))(
  '$suite $seed: only the leader writes, regardless of how long the other process was frozen',
  async (one) => {
    const { violations, story } = await play('leases', one);
    expect(violations, `${again(one)}\n${story}`).toEqual([]);
  },
);

test('a write of a frozen process without a fence, while another one leads, is reported', async () => {
  // In some histories, no process is frozen during a write. The test runs histories until a history contains a freeze
  // during a write.
  const reported = async (seed: number): Promise<boolean> => {
    const { violations } = await play('leases', {
      seed,
      profile: 'lan',
      elected: { unfenced: true },
      endsAtViolation: true,
    });
    return violations.some((each) => /^\S+-\d+ sends \S+ \S+ although \S+ is the leader$/.test(each));
  };
  let seed = 1;
  while (!(await reported(seed))) {
    seed += 1;
    expect(seed, 'seeds without a report').toBeLessThan(30);
  }
  expect((await play('leases', { seed, profile: 'lan' })).violations).toEqual([]);
});

test('a set that completes its scale-in after a user deleted another machine breaks no rule', async () => {
  const { violations, story } = await play('leases', { seed: 8114, profile: 'slow' });
  expect(violations, story).toEqual([]);
});
