import { describe, expect, test } from 'vitest';
import type { SetSize } from '../state/size.ts';
import { isSaturated, isScalingEvent, planScaling, type ScaleTarget } from './scaling.ts';

const size = (name: string, replicas: number, desired: number): SetSize => ({
  name,
  createdAt: name === 'old' ? 1 : 2,
  replicas,
  actual: replicas,
  available: replicas,
  desired,
  max: desired,
});

const IN_PLACE: ScaleTarget = {
  replicas: 4,
  limits: { surge: 1, annotatedSurge: 0, unavailable: 1 },
  strategy: 'InPlaceUpdate',
  statusReplicas: 4,
  paused: true,
};

const sizesOf = (current: SetSize, old: SetSize, target: ScaleTarget) =>
  Object.fromEntries(planScaling({ current, old: [old] }, target).resize);

test('an update in place that is paused in its middle follows a user who scales down', () => {
  expect(sizesOf(size('new', 1, 4), size('old', 3, 4), { ...IN_PLACE, replicas: 2 })).toEqual({ old: 1, new: 1 });
  expect(sizesOf(size('new', 1, 4), size('old', 3, 4), { ...IN_PLACE, replicas: 0 })).toEqual({ old: 0, new: 0 });
});

test('replicas that are requested during the pause of an update in place go to the newest set', () => {
  expect(sizesOf(size('new', 1, 4), size('old', 3, 4), { ...IN_PLACE, replicas: 6 })).toEqual({ new: 3 });
});

test('a surge machine of an update in place outlives the pause', () => {
  expect(sizesOf(size('new', 2, 4), size('old', 3, 4), IN_PLACE)).toEqual({});
});

test('a set that fills up during the pause of an update in place does not empty the others', () => {
  expect(sizesOf(size('new', 4, 4), size('old', 1, 4), IN_PLACE)).toEqual({});
});

test('a paused rolling update deletes machines above a reduced surge', () => {
  const target: ScaleTarget = { ...IN_PLACE, strategy: 'RollingUpdate', limits: { ...IN_PLACE.limits, surge: 0 } };
  expect(sizesOf(size('new', 2, 4), size('old', 3, 4), target)).toEqual({ old: 2, new: 2 });
});

test('without a pause an update in place moves its machines by itself', () => {
  const { resize, annotate, because } = planScaling(
    { current: size('new', 1, 4), old: [size('old', 3, 4)] },
    { ...IN_PLACE, paused: false, replicas: 2 },
  );
  expect([[...resize], because]).toEqual([[], 'the rollout strategy determines the size of each MachineSet']);
  expect(annotate).toEqual(['old', 'new']);
});

test.each([false, true])(
  'a large surge gives the newest set only the requested replicas, and is no reason to wait (paused: %s)',
  (paused) => {
    const limits = { surge: 3, annotatedSurge: 3, unavailable: 0 };
    const target: ScaleTarget = { replicas: 3, limits, strategy: 'RollingUpdate', statusReplicas: 2, paused };
    const { resize, annotate } = planScaling({ current: size('new', 1, 2), old: [size('old', 1, 2)] }, target);
    expect(Object.fromEntries(resize)).toEqual({ new: 3 });
    expect(annotate).toEqual(['old', 'new']);
  },
);

const of = (name: string, replicas: number, change: Partial<SetSize> = {}): SetSize => ({
  ...size(name, replicas, 4),
  ...change,
});
const rolling = (replicas: number, change: Partial<ScaleTarget> = {}): ScaleTarget => ({
  replicas,
  limits: { surge: 1, annotatedSurge: 1, unavailable: 0 },
  strategy: 'RollingUpdate',
  statusReplicas: 4,
  ...change,
});
const NO_SURGE = { limits: { surge: 0, annotatedSurge: 0, unavailable: 0 } } as const;
const CEILING = { ceiling: 1, good: 'old' } as const;

describe('a change of the replicas', () => {
  test.each<[what: string, current: SetSize | undefined, old: SetSize[], replicas: number, is: boolean]>([
    ['without a current set it belongs to the change of the template', undefined, [of('old', 3)], 2, false],
    ['of sets without replicas', of('new', 0), [], 1, true],
    ['from 0 to 0', of('new', 0), [], 0, false],
    ['that one set has not recorded yet', of('new', 1), [of('old', 3, { desired: 3 })], 4, true],
    ['that only an empty set has not recorded', of('new', 4), [of('old', 0, { desired: 3 })], 4, false],
    ['that all sets have recorded', of('new', 1), [of('old', 3)], 4, false],
    ['of a set that was never scaled', of('new', 4, { desired: undefined }), [], 5, false],
  ])('%s', (_what, current, old, replicas, is) => {
    expect(isScalingEvent({ current, old }, replicas)).toBe(is);
  });
});

test.each<[what: string, current: SetSize | undefined, is: boolean]>([
  ['has and had all replicas', of('new', 4), true],
  ['does not exist', undefined, false],
  ['has fewer', of('new', 3, { available: 4 }), false],
  ['was last scaled to fewer', of('new', 4, { desired: 3 }), false],
  ['has one that is not available', of('new', 4, { available: 3 }), false],
])('a set that %s carries the deployment: %#', (_what, current, is) => {
  expect(isSaturated(current, 4)).toBe(is);
});

interface Row {
  readonly current?: SetSize;
  readonly old?: readonly SetSize[];
  readonly to: ScaleTarget;
  readonly resize: Readonly<Record<string, number>>;
  readonly annotate: readonly string[];
  readonly because?: RegExp;
}

test.each<[what: string, row: Row]>([
  ['no set', { to: rolling(4), resize: {}, annotate: [], because: /no MachineSet/ }],
  [
    'the current one',
    {
      current: of('new', 2),
      old: [of('old', 0)],
      to: rolling(4),
      resize: { new: 4 },
      annotate: ['new'],
      because: /new is the only/,
    },
  ],
  [
    'a former one',
    { current: of('new', 0), old: [of('old', 2)], to: rolling(4), resize: { old: 4 }, annotate: ['old'] },
  ],
  [
    'a former one, although the current template has a limit',
    { current: of('new', 0), old: [of('old', 2)], to: rolling(4, CEILING), resize: { old: 4 }, annotate: ['old'] },
  ],
  [
    'none, so the current one',
    { current: of('new', 0), old: [of('old', 0)], to: rolling(2), resize: { new: 2 }, annotate: ['new'] },
  ],
  [
    'none, so the last good one',
    { old: [of('old', 0), of('later', 0)], to: rolling(2, { good: 'old' }), resize: { old: 2 }, annotate: ['old'] },
  ],
  [
    'none, so the newest one',
    { old: [of('old', 0), of('later', 0)], to: rolling(2), resize: { later: 2 }, annotate: ['later'] },
  ],
  [
    'one with a machine that is being deleted, which still counts',
    {
      current: of('new', 2, { actual: 3, leaving: 1 }),
      to: rolling(4, NO_SURGE),
      resize: { new: 3 },
      annotate: ['new'],
    },
  ],
  [
    'one that shrinks, with more machines than allowed',
    {
      current: of('new', 4, { actual: 6, leaving: 2 }),
      to: rolling(3, NO_SURGE),
      resize: { new: 3 },
      annotate: ['new'],
    },
  ],
  [
    'the current one at its limit: the last good one grows',
    {
      current: of('new', 2),
      old: [of('old', 0)],
      to: rolling(4, { ceiling: 2, good: 'old' }),
      resize: { old: 3 },
      annotate: ['old', 'new'],
      because: /the last good set old grows, because/,
    },
  ],
  [
    'the current one, which has all replicas already',
    {
      current: of('new', 2),
      old: [of('old', 0)],
      to: rolling(2, { ceiling: 2, good: 'old' }),
      resize: { new: 2 },
      annotate: ['new'],
    },
  ],
])('a single set with replicas gets all: %s', (_what, { current, old = [], to, resize, annotate, because }) => {
  const plan = planScaling({ current, old }, to);
  expect([Object.fromEntries(plan.resize), plan.annotate]).toEqual([resize, annotate]);
  expect(plan.because).toMatch(because ?? /./);
});

test.each<[what: string, row: Row]>([
  [
    'a pause keeps the sizes up to the surge',
    {
      current: of('new', 2),
      old: [of('old', 3)],
      to: rolling(4, { paused: true }),
      resize: {},
      annotate: ['old', 'new'],
      because: /paused/,
    },
  ],
  [
    'a pause keeps the size of a set that was never scaled',
    {
      current: of('new', 1, { desired: undefined }),
      old: [of('old', 3)],
      to: rolling(4, { paused: true }),
      resize: {},
      annotate: ['old', 'new'],
    },
  ],
  [
    'a pause follows the user if one set has not recorded the replicas yet',
    {
      current: of('new', 1),
      old: [of('old', 3, { desired: 3 })],
      to: rolling(4, { paused: true }),
      resize: { new: 2 },
      annotate: ['old', 'new'],
    },
  ],
  [
    'without a pause the current set grows',
    {
      current: of('new', 1),
      old: [of('old', 3), of('empty', 0)],
      to: rolling(4),
      resize: { new: 2 },
      annotate: ['old', 'new'],
      because: /in proportion/,
    },
  ],
  [
    'a saturated set scales the others to 0',
    {
      current: of('new', 4),
      old: [of('old', 1), of('empty', 0)],
      to: rolling(4),
      resize: { old: 0 },
      annotate: [],
      because: /the current MachineSet has all replicas/,
    },
  ],
  [
    'the total is already correct',
    { current: of('new', 2), old: [of('old', 3)], to: rolling(4), resize: {}, annotate: ['old', 'new'] },
  ],
  [
    'a current set without replicas is left to the rollout',
    {
      current: of('new', 0),
      old: [of('old', 2), of('later', 1)],
      to: rolling(4),
      resize: {},
      annotate: ['old', 'later'],
      because: /in proportion/,
    },
  ],
  [
    'a missing current set is left to the rollout too',
    { old: [of('old', 2), of('later', 1)], to: rolling(4, { good: 'old' }), resize: {}, annotate: ['old', 'later'] },
  ],
  [
    'a template without machines gets none during a pause: the last good set grows',
    {
      current: of('new', 0),
      old: [of('old', 2, { desired: 3 }), of('later', 1, { desired: 3 })],
      to: rolling(4, { paused: true, good: 'old' }),
      resize: { old: 3 },
      annotate: ['old', 'later'],
    },
  ],
  [
    'a template with a limit first grows to this limit',
    {
      current: of('new', 0),
      old: [of('old', 2, { desired: 3 }), of('later', 1, { desired: 3 })],
      to: rolling(6, { paused: true, ...CEILING }),
      resize: { new: 1, old: 5 },
      annotate: ['old', 'later', 'new'],
      because: /old grows/,
    },
  ],
  [
    'at its limit, but not paused, the current set grows first as well',
    {
      current: of('new', 0),
      old: [of('old', 2), of('later', 1)],
      to: rolling(6, CEILING),
      resize: { new: 1, old: 5 },
      annotate: ['old', 'later', 'new'],
    },
  ],
  [
    'the last good set is named as the cause only if it grows',
    {
      current: of('new', 0),
      old: [of('old', 3), of('later', 1)],
      to: rolling(4, CEILING),
      resize: { new: 1 },
      annotate: ['old', 'later', 'new'],
      because: /in proportion/,
    },
  ],
  [
    'too many machines that are being deleted leave no room',
    {
      current: of('new', 1, { actual: 3, leaving: 2 }),
      old: [of('old', 3)],
      to: rolling(4),
      resize: {},
      annotate: ['old', 'new'],
    },
  ],
  [
    'machines that are being deleted delay the growth; the rollout continues it',
    {
      current: of('new', 1, { actual: 2, leaving: 1 }),
      old: [of('old', 3)],
      to: rolling(6),
      resize: { new: 3 },
      annotate: ['old', 'new'],
    },
  ],
  [
    'during a pause the sets stay unwritten, so that a later pass adds the rest',
    {
      current: of('new', 1, { actual: 2, leaving: 1 }),
      old: [of('old', 3)],
      to: rolling(6, { paused: true }),
      resize: { new: 3 },
      annotate: [],
    },
  ],
  [
    'at a limit the sets stay unwritten too',
    {
      current: of('new', 1, { actual: 2, leaving: 1 }),
      old: [of('old', 3)],
      to: rolling(6, CEILING),
      resize: { old: 5 },
      annotate: [],
    },
  ],
])('two sets and more with replicas: %s', (_what, { current, old = [], to, resize, annotate, because }) => {
  const plan = planScaling({ current, old }, to);
  expect([Object.fromEntries(plan.resize), plan.annotate]).toEqual([resize, annotate]);
  expect(plan.because).toMatch(because ?? /./);
});

const max = (value: number | undefined, change: Partial<SetSize> = {}): Partial<SetSize> => ({ max: value, ...change });

test.each<[what: string, row: Omit<Row, 'annotate'>]>([
  [
    'in proportion to their sizes',
    {
      current: of('new', 10, max(15)),
      old: [of('old', 5, max(15))],
      to: rolling(10, NO_SURGE),
      resize: { new: 7, old: 3 },
    },
  ],
  [
    'from the older of two equal sets first',
    {
      current: of('new', 5, max(10)),
      old: [of('later', 0), of('old', 5, max(10))],
      to: rolling(9, NO_SURGE),
      resize: { new: 5, old: 4 },
    },
  ],
  [
    'from the older of two equal sets first, also if that is the current one',
    {
      current: of('new', 5, max(10, { createdAt: 0 })),
      old: [of('old', 5, max(10))],
      to: rolling(9, NO_SURGE),
      resize: { new: 4, old: 5 },
    },
  ],
  [
    'in the same proportion next to a set that may not grow',
    {
      current: of('new', 4, max(10)),
      old: [of('old', 3, max(4))],
      to: rolling(6, { limits: { ...NO_SURGE.limits, unavailable: 6 } }),
      resize: { new: 3, old: 3 },
    },
  ],
  [
    'so that every set keeps its available machines, if starting ones can be deleted',
    {
      current: of('new', 6, max(12, { available: 0 })),
      old: [of('old', 2, max(12)), of('later', 4, max(12))],
      to: rolling(6, NO_SURGE),
      resize: { old: 2, later: 4, new: 0 },
    },
  ],
  [
    'the rest from the largest set',
    {
      current: of('new', 3, max(12)),
      old: [of('old', 6, max(12)), of('later', 3, max(12))],
      to: rolling(11, NO_SURGE),
      resize: { new: 3, old: 5, later: 3 },
    },
  ],
  [
    'all of them',
    {
      current: of('new', 2, max(undefined)),
      old: [of('old', 2, max(undefined))],
      to: rolling(0, { ...NO_SURGE, statusReplicas: 0 }),
      resize: { new: 0, old: 0 },
    },
  ],
  [
    'all of them, with any surge',
    { current: of('new', 2), old: [of('old', 2)], to: rolling(0), resize: { new: 0, old: 0 } },
  ],
  [
    'a set with an outdated annotation never grows',
    {
      current: of('new', 3, max(10)),
      old: [of('old', 3, max(4))],
      to: rolling(5, NO_SURGE),
      resize: { new: 2, old: 3 },
    },
  ],
  [
    'no set gets a size below 0',
    {
      current: of('new', 3, max(1)),
      old: [of('old', 3, max(1))],
      to: rolling(1, NO_SURGE),
      resize: { new: 3, old: 0 },
    },
  ],
  [
    'measured against the status where the annotation is missing',
    {
      current: of('new', 4, max(undefined, { available: 3 })),
      old: [of('old', 4, max(undefined))],
      to: rolling(4, { limits: { ...NO_SURGE.limits, unavailable: 4 }, statusReplicas: 16 }),
      resize: { new: 3, old: 1 },
    },
  ],
  [
    'measured against the replicas and the surge where both are missing',
    {
      current: of('new', 6, max(undefined)),
      old: [of('old', 3, max(undefined))],
      to: rolling(6, { statusReplicas: 0 }),
      resize: { new: 4, old: 3 },
    },
  ],
  [
    'from machines that start before available ones [incident 9]',
    {
      current: of('new', 3, max(6, { available: 0 })),
      old: [of('old', 3, max(6))],
      to: rolling(4),
      resize: { new: 2, old: 3 },
    },
  ],
  [
    'no more than must stay available',
    {
      current: of('new', 2, max(8, { available: 0 })),
      old: [of('old', 4, max(8)), of('later', 2, max(8, { available: 0 }))],
      to: rolling(3),
      resize: { old: 3, new: 1, later: 0 },
    },
  ],
  [
    'fewer if some may be unavailable',
    {
      current: of('new', 4, max(8, { available: 0 })),
      old: [of('old', 4, max(8))],
      to: rolling(3, { limits: { surge: 1, annotatedSurge: 1, unavailable: 2 } }),
      resize: { old: 2, new: 2 },
    },
  ],
])('a reduction is shared: %s', (_what, { current, old = [], to, resize }) => {
  const plan = planScaling({ current, old }, to);
  expect(Object.fromEntries(plan.resize)).toEqual(resize);
  const active = [...old, ...(current ? [current] : [])].filter(({ replicas }) => replicas > 0);
  expect([plan.annotate, plan.because]).toEqual([active.map(({ name }) => name), 'in proportion']);
});
