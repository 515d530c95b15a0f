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

test('a total that already exceeds the bound may shrink towards it', () => {
  const most = { current: size('new', 5), old: [size('old', 5)] };
  expect(() => checkPlan(most, new Map([['old', 4]]), bounds)).not.toThrow();
});

test.each<[what: string, strategy: string, replicas: number, before: number, unavailable: number, refused: boolean]>([
  ['a rolling update', 'RollingUpdate', 5, 5, 5, true],
  ['an update in place', 'InPlaceUpdate', 5, 5, 5, true],
  ['a rolling update of one machine that must be available', 'RollingUpdate', 1, 1, 0, true],
  ['a rolling update of one machine that may be unavailable', 'RollingUpdate', 1, 1, 1, false],
  ['Recreate', 'Recreate', 5, 5, 0, false],
  ['a deployment that is scaled to 0', 'RollingUpdate', 0, 5, 0, false],
])(
  'incident 10: %s may scale all sets to 0 only if the user requested it',
  (_what, strategy, replicas, before, unavailable, refused) => {
    const all = { current: size('new', 0), old: [size('old', before)] };
    const scale = () => checkPlan(all, new Map([['old', 0]]), { replicas, surge: 0, unavailable, strategy });
    if (refused) expect(scale).toThrow(/refused to scale all MachineSets to 0/);
    else expect(scale).not.toThrow();
  },
);

test.each([-1, 1.5, Number.NaN])('a size of %s is refused', (replicas) => {
  expect(() => checkPlan(sizes, new Map([['new', replicas]]), bounds)).toThrow(PlanRefused);
});
