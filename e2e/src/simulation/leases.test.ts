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
  // In some histories, no process is frozen during a write.
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

test('the cloud deletes the Node of a VM that ended before the machine controller recorded it', async () => {
  const plan = {
    steps: [
      { act: 'silent kubelet', pauseMs: 14437, drawn: 3 },
      { act: 'lost VM', pauseMs: 19082, drawn: 7 },
      { act: 'endanger', pauseMs: 4935, drawn: 10 },
      { act: 'freeze', pauseMs: 0, drawn: 17 },
      { act: 'lost VM', pauseMs: 8495, drawn: 28 },
    ],
    lastPauseMs: 0,
    drawn: 30,
  };
  const { violations, story } = await play('leases', { seed: 139, profile: 'lan', plan });
  expect(violations, story).toEqual([]);
});

test('a name is used again if no manager has read the deleted machine', async () => {
  const plan = {
    steps: [
      { act: 'delete', pauseMs: 49315, drawn: 3 },
      { act: 'silent kubelet', pauseMs: 13557, drawn: 11 },
      { act: 'endanger', pauseMs: 11037, drawn: 14 },
      { act: 'lost VM', pauseMs: 32136, drawn: 21 },
      { act: 'freeze', pauseMs: 0, drawn: 24 },
    ],
    lastPauseMs: 1653,
    drawn: 46,
  };
  const { violations, story } = await play('leases', { seed: 143, profile: 'hostile', plan });
  expect(violations, story).toEqual([]);
});
