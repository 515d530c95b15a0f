import { expect, test } from 'vitest';
import { checkPlan, PlanRefused } from './guard.ts';

const size = (name: string, replicas: number) => ({
  name,
  createdAt: 0,
  replicas,
  actual: replicas,
  available: replicas,
  desired: undefined,
  max: undefined,
});
const sizes = { current: size('new', 1), old: [size('old', 4)] };
const bounds = { replicas: 4, surge: 2, unavailable: 0, strategy: 'RollingUpdate' };

test('a plan may grow to replicas + surge, and not to one more', () => {
  expect(() => checkPlan(sizes, new Map([['new', 2]]), bounds)).not.toThrow();
  expect(() => checkPlan(sizes, new Map([['new', 3]]), bounds)).toThrow(PlanRefused);
});

test('what is above the bound already may shrink towards it', () => {
  const most = { current: size('new', 5), old: [size('old', 5)] };
  expect(() => checkPlan(most, new Map([['old', 4]]), bounds)).not.toThrow();
});
