import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { AccountRates } from './account-rates.ts';

test('equal accounts share their rate limits, and other accounts and regions do not', () => {
  const rates = new AccountRates(new VirtualClock());
  rates
    .of(['eu', { id: 'a', secret: 's' }])
    .of('RunInstances')
    .throttled();
  const limitOf = (region: string, secret: string) =>
    rates.of([region, { id: 'a', secret }]).of('RunInstances').limit !== undefined;
  expect([limitOf('eu', 's'), limitOf('us', 's'), limitOf('eu', 'other')]).toEqual([true, false, false]);
  expect(rates.of(['eu', { id: 'a', secret: 's' }]).of('StopInstances').limit).toBeUndefined();
});

test('the least recently used account is removed first', () => {
  const rates = new AccountRates(new VirtualClock(), 2);
  const [a, b] = [rates.of('a'), rates.of('b')];
  expect(rates.of('a')).toBe(a);
  rates.of('c');
  expect([rates.of('a') === a, rates.of('b') === b]).toEqual([true, false]);
});
