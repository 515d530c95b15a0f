import { expect, test } from 'vitest';
import { Takeovers } from './takeovers.ts';

test('a Lease is taken over when a process that lives holds it', () => {
  const takeovers = new Takeovers(20_000);
  takeovers.lease('c1/m', 'a.1', 0);
  takeovers.lease('c2/m', 'ab.1', 0);
  expect(takeovers.kill(['a'], 1_000)).toBe(1);
  takeovers.lease('c1/m', 'a.1', 2_000);
  takeovers.lease('c1/m', '', 3_000);
  takeovers.lease('c2/m', 'ab.1', 3_000);
  expect([takeovers.open, takeovers.done]).toEqual([1, []]);
  takeovers.lease('c1/m', 'a2.7', 16_000);
  expect([takeovers.open, takeovers.done]).toEqual([0, [{ lease: 'c1/m', ms: 15_000 }]]);
  takeovers.verify(60_000);
  expect(takeovers.violations).toEqual([]);
});

test('a Lease without a new holder at the limit is one violation, also if the new holder is late or dies', () => {
  const takeovers = new Takeovers(20_000);
  takeovers.lease('c1/m', 'a.1', 0);
  takeovers.kill(['a'], 0);
  takeovers.verify(20_000);
  expect(takeovers.violations).toEqual([]);
  takeovers.verify(20_001);
  takeovers.verify(25_000);
  takeovers.lease('c1/m', 'b.1', 26_000);
  expect(takeovers.violations).toEqual(['Lease c1/m had no new holder 20 s after the kill']);
  takeovers.kill(['b'], 30_000);
  takeovers.lease('c1/m', 'c.1', 50_500);
  expect(takeovers.violations).toHaveLength(2);
});
