import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { AccountRates } from '../../cloud/account-rates.ts';
import { MachineError } from '../../contract/errors.ts';
import { CallBudgets } from './budget.ts';

const NEVER = new AbortController().signal;
const throttled = new MachineError('Unavailable', 'slow down', { throttled: true });

test.each([
  ['shares the rate limit of its credentials', { key: 'a' }, true],
  ['with other user data shares the rate limit', { key: 'a', userData: 'other' }, true],
  ['with other credentials has its own rate limit', { key: 'b' }, false],
])('another cluster %s', async (_what, secrets, waits) => {
  const clock = new VirtualClock();
  const rates = new AccountRates(clock);
  const [first, second] = [new CallBudgets(clock, rates), new CallBudgets(clock, rates)];
  await expect(first.spend({ key: 'a' }, NEVER, () => Promise.reject(throttled))).rejects.toThrow('slow down');
  let called = false;
  const call = second.spend(secrets, NEVER, async () => {
    called = true;
  });
  await clock.settle();
  expect(called).toBe(!waits);
  await clock.advance(10_000);
  await call;
  expect(called).toBe(true);
});
