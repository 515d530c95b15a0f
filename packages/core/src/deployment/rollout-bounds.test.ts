import { expect, test } from 'vitest';
import { type Limits, limitsOf } from '../objects/limits.ts';
import { deployment, set } from '../set/test-objects.ts';
import { planRecreate } from './rollout/recreate.ts';
import { currentReplicas, planRollingUpdate, type RolloutTarget, shrinkOld } from './rollout/rolling-update.ts';
import { isScalingEvent, planScaling, type ScaleTarget } from './scaling/scaling.ts';
import { added, grown, lastGood } from './state/growth.ts';
import { maximumMachines, type SetSize, sizeOf } from './state/size.ts';

const size = (name: string, replicas: number, more: Partial<SetSize> = {}): SetSize => ({
  name,
  createdAt: name === 'new' ? 2 : 1,
  replicas,
  actual: replicas,
  available: replicas,
  desired: undefined,
  max: undefined,
  ...more,
});

const TARGET: RolloutTarget = { replicas: 10, surge: 2, unavailable: 1 };
const shrunk = (current: SetSize, old: readonly SetSize[], change: Partial<RolloutTarget> = {}) =>
  Object.fromEntries(shrinkOld({ current, old }, { ...TARGET, ...change }));
const stepOf = (current: SetSize, old: readonly SetSize[], change: Partial<RolloutTarget> = {}) => {
  const { resize, because } = planRollingUpdate({ current, old }, { ...TARGET, ...change });
  return [Object.fromEntries(resize), because] as const;
};

test.each<[what: string, current: number, old: SetSize, ceiling: number | undefined, want: number]>([
  ['as many as the limit allows', 0, size('old', 10), undefined, 2],
  ['no more than requested', 9, size('old', 0), undefined, 10],
  ['no more than its ceiling', 0, size('old', 10), 1, 1],
  ['machines above its ceiling', 3, size('old', 8), 1, 3],
  ['no more at the limit', 2, size('old', 10), undefined, 2],
  ['no more if there are already too many', 2, size('old', 12), undefined, 2],
  ['no more than requested with a higher ceiling', 9, size('old', 0), 20, 10],
])('the current set may have %s', (_what, have, old, ceiling, want) => {
  const target = { ...TARGET, ...(ceiling === undefined ? {} : { ceiling }) };
  expect(currentReplicas({ current: size('new', have), old: [old] }, target)).toBe(want);
});

test('a failed old machine uses the budget, unless its replica has no machine', () => {
  const old = size('old', 8, { available: 5, open: 1 });
  const current = size('new', 4);
  expect(shrunk(current, [old], { free: 0, repairsFirst: true })).toEqual({ old: 7 });
  expect(shrunk(current, [old], { free: 1, repairsFirst: true })).toEqual({ old: 6 });
  expect(shrunk(current, [old], { repairsFirst: true })).toEqual({ old: 5 });
  expect(shrunk(current, [{ ...old, available: 8, open: 3 }], { repairsFirst: true })).toEqual({});
});

test('no available machine is deleted while a failed one waits, and the circuit breaker keeps unreachable ones', () => {
  expect(shrunk(size('new', 4), [size('old', 8)], { repairsFirst: true })).toEqual({});
  expect(shrunk(size('new', 4), [size('old', 8)])).toEqual({ old: 5 });
  expect(shrunk(size('new', 4), [size('old', 8, { available: 6, held: 2 })])).toEqual({});
});

test('one machine stays until the current set was scaled, unless it is the last one that could move', () => {
  const all = { unavailable: 10, surge: 0 };
  expect(shrunk(size('new', 0), [size('old', 10)], all)).toEqual({ old: 1 });
  expect(shrunk(size('new', 0), [size('old', 1)], { replicas: 1, surge: 0, unavailable: 1 })).toEqual({ old: 0 });
  const leaving = size('old', 1, { actual: 2, leaving: 1 });
  expect(shrunk(size('new', 0), [leaving], { replicas: 1, surge: 0, unavailable: 1 })).toEqual({});
  expect(shrunk(size('new', 0), [size('old', 3)], { ...all, replicas: 0, unavailable: 0 })).toEqual({ old: 0 });
});

test('a set without replicas does not shrink', () => {
  expect(shrunk(size('new', 10), [size('a', 0), size('b', 0)])).toEqual({});
  expect(shrunk(size('new', 10), [size('a', 0, { available: 2, actual: 2 }), size('b', 2)])).toEqual({ b: 0 });
});

test('a current set above the requested size shrinks, and one of this size does not change', () => {
  expect(stepOf(size('new', 12), [])[0]).toEqual({ new: 10 });
  expect(stepOf(size('new', 10), [])).toEqual([{}, 'no old machine remains']);
});

test('a waiting rollout reports the reason', () => {
  const waits = 'waiting: machines of the current set are not available, or old machines still exist';
  expect(stepOf(size('new', 2, { available: 0 }), [size('old', 10)], { unavailable: 0 })).toEqual([{}, waits]);
  expect(stepOf(size('new', 10), [size('a', 0), size('b', 0, { actual: 1 })])).toEqual([{}, waits]);
  expect(stepOf(size('new', 10), [size('a', 0), size('b', 0)])[1]).toBe('no old machine remains');
  const [resize, because] = stepOf(size('new', 4), [size('old', 8)]);
  expect([resize, because]).toEqual([{ old: 5 }, 'enough machines are available: deleting old machines']);
});

test('the last good set gets the replicas that a canary may not have yet, within the limit', () => {
  const proven = { ceiling: 1, good: 'old' };
  const grows = 'the last good set grows, because the current set never had all its machines';
  expect(stepOf(size('new', 1), [size('old', 6)], proven)).toEqual([{ old: 9 }, grows]);
  expect(stepOf(size('new', 1), [size('old', 6, { actual: 10 })], proven)).toEqual([{ old: 7 }, grows]);
  expect(stepOf(size('new', 1), [size('old', 6, { actual: 11 })], proven)[0]).toEqual({});
  expect(stepOf(size('new', 1), [size('old', 9)], proven)[0]).toEqual({});
  expect(stepOf(size('new', 0), [size('old', 6)], proven)[0]).toEqual({ new: 1 });
  expect(stepOf(size('new', 1), [size('old', 6)])[0]).toEqual({ new: 6 });
});

test('at its ceiling, a canary deletes no more old machines than it may still create', () => {
  const proven = { ceiling: 1, good: 'old', unavailable: 3 };
  expect(stepOf(size('new', 1), [size('old', 9)], proven)[0]).toEqual({});
  expect(stepOf(size('new', 1), [size('old', 9)], { unavailable: 3, surge: 0 })[0]).toEqual({ old: 6 });
  expect(stepOf(size('new', 1), [size('old', 11)], proven)[0]).toEqual({ old: 9 });
  expect(stepOf(size('new', 1), [size('old', 11)], { ...proven, ceiling: 3 })[0]).toEqual({ old: 7 });
  expect(stepOf(size('new', 1), [size('old', 10)], { ...proven, unavailable: 0 })[0]).toEqual({ old: 9 });
  expect(stepOf(size('new', 1), [size('old', 13)], proven)[0]).toEqual({ old: 6 });
});

const LIMITS: Limits = { surge: 2, annotatedSurge: 2, unavailable: 1 };
const SCALE: ScaleTarget = { replicas: 10, limits: LIMITS, strategy: 'RollingUpdate', statusReplicas: 8 };
const wanted = (replicas: number, desired: number, more: Partial<SetSize> = {}) => ({
  desired,
  max: desired + 2,
  ...more,
  replicas,
});
const scaled = (current: SetSize | undefined, old: readonly SetSize[], change: Partial<ScaleTarget> = {}) => {
  const { resize, annotate, because } = planScaling({ current, old }, { ...SCALE, ...change });
  return [Object.fromEntries(resize), annotate, because] as const;
};

test('a deployment without a set has nothing to scale; growth without machines is a scaling', () => {
  expect(scaled(undefined, [])).toEqual([{}, [], 'the deployment has no MachineSet to scale']);
  const none = { current: size('new', 0), old: [] };
  expect([isScalingEvent(none, 3), isScalingEvent(none, 0)]).toEqual([true, false]);
  expect(isScalingEvent({ current: undefined, old: [size('old', 3, wanted(3, 2))] }, 5)).toBe(false);
  const current = size('new', 3);
  expect(isScalingEvent({ current, old: [] }, 5)).toBe(false);
  expect(isScalingEvent({ current: { ...current, desired: 3 }, old: [] }, 5)).toBe(true);
  expect(isScalingEvent({ current: { ...current, desired: 5 }, old: [] }, 5)).toBe(false);
});

test('without machines the current set is scaled first, then the last good one, then the newest', () => {
  const emptied = [size('a', 0, { createdAt: 1 }), size('b', 0, { createdAt: 3 })];
  expect(scaled(size('new', 0), emptied)[0]).toEqual({ new: 10 });
  expect(scaled(undefined, emptied, { good: 'a' })[0]).toEqual({ a: 10 });
  expect(scaled(undefined, emptied)[0]).toEqual({ b: 10 });
});

test('a single set with an unproven template grows to its ceiling, and the last good one takes the rest', () => {
  const proven = { ceiling: 3, good: 'old' };
  expect(scaled(size('new', 1, wanted(1, 1)), [size('old', 0)], proven)).toEqual([
    ...[
      { new: 3, old: 9 },
      ['old', 'new'],
      'the last good set old grows, because the current set never had all its machines',
    ],
  ]);
  expect(scaled(size('new', 0), [size('old', 4, wanted(4, 4))], proven)[0]).toEqual({ old: 10 });
  expect(scaled(size('new', 12, wanted(12, 12)), [], proven)[0]).toEqual({ new: 10 });
  expect(scaled(size('new', 1, wanted(1, 1)), [size('old', 0)])[0]).toEqual({ new: 10 });
});

test('during a rollout the current set grows; a template without machines gets none', () => {
  const old = size('old', 4, wanted(4, 6));
  const other = size('other', 2, wanted(2, 6));
  expect(scaled(size('new', 2, wanted(2, 6)), [old])[0]).toEqual({ new: 8 });
  expect(scaled(size('new', 0), [old, other])).toEqual([{}, ['old', 'other'], 'in proportion']);
  expect(scaled(undefined, [old, other], { good: 'old' })[0]).toEqual({});
  expect(scaled(size('new', 0), [old, other], { paused: true, good: 'old' })[0]).toEqual({ old: 8 });
  expect(scaled(size('new', 0), [old, other], { ceiling: 1, good: 'old' })[0]).toEqual({ new: 1, old: 8 });
});

test('growth that terminating machines delay stays requested during a pause or at a ceiling', () => {
  const old = size('old', 4, wanted(4, 6, { actual: 8 }));
  const current = size('new', 2, wanted(2, 6));
  const annotated = (change: Partial<ScaleTarget>) => scaled(current, [old], change)[1];
  expect(annotated({})).toEqual(['old', 'new']);
  expect(annotated({ paused: true })).toEqual([]);
  expect(annotated({ ceiling: 9 })).toEqual([]);
  expect(scaled(current, [old], { paused: true })[0]).toEqual({ new: 4 });
  expect(scaled(current, [size('old', 4, wanted(4, 6))], { paused: true })[1]).toEqual(['old', 'new']);
});

test('a set without machines is not annotated unless it grows', () => {
  const old = size('old', 4, wanted(4, 6));
  expect(scaled(size('new', 2, wanted(2, 6)), [old, size('empty', 0)])[1]).toEqual(['old', 'new']);
});

test('next to a saturated set only the sets with machines are scaled to 0', () => {
  const current = size('new', 10, wanted(10, 10));
  expect(scaled(current, [size('a', 1), size('b', 0)])).toEqual([
    { a: 0 },
    [],
    'the current MachineSet has all replicas',
  ]);
});

test('the total follows the annotated surge, and falls to 0 with the last replica', () => {
  const [current, old] = [size('new', 6, wanted(6, 12)), size('old', 6, wanted(6, 12))];
  const after = (replicas: number) =>
    Object.values(scaled(current, [old], { replicas })[0]).reduce((sum, n) => sum + n, 0);
  expect([after(8), after(4), after(0)]).toEqual([10, 6, 0]);
});

test('sets without an annotated request are not scaled during a pause', () => {
  expect(scaled(size('new', 3), [size('old', 4)], { paused: true })[0]).toEqual({});
});

test('sets at their maximum do not change', () => {
  const [current, old] = [size('new', 6, wanted(6, 8)), size('old', 6, wanted(6, 8))];
  expect(scaled(current, [old])).toEqual([{}, ['old', 'new'], 'in proportion']);
});

test('the newest of many small sets keeps the remainder', () => {
  const sets = ['a', 'b', 'c'].map((name, i) => size(name, 1, { ...wanted(1, 4), max: 4, createdAt: i }));
  const current = size('new', 1, { ...wanted(1, 4), max: 4, createdAt: 9 });
  const limits = { surge: 0, annotatedSurge: 0, unavailable: 1 };
  expect(scaled(current, sets, { replicas: 1, limits })[0]).toEqual({ a: 0, b: 0, c: 0, new: 1 });
});

test('no set shrinks by more than the remaining reduction', () => {
  const half = (name: string) => size(name, 3, { ...wanted(3, 9), max: 9 });
  const limits = { surge: 0, annotatedSurge: 0, unavailable: 3 };
  expect(scaled(half('new'), [half('old')], { replicas: 3, limits })[0]).toEqual({ old: 1, new: 2 });
});

test('sets with available machines share the reduction that a starting set saves', () => {
  const serving = (name: string) => size(name, 4, { ...wanted(4, 16), max: 16 });
  const booting = size('new', 8, { ...wanted(8, 16), max: 16, available: 0 });
  const after = (unavailable: number) => {
    const limits = { surge: 0, annotatedSurge: 0, unavailable };
    return scaled(booting, [serving('a'), serving('b')], { replicas: 8, limits })[0];
  };
  expect([after(4), after(3), after(1)]).toEqual([
    { a: 2, b: 2, new: 4 },
    { a: 3, b: 2, new: 3 },
    { a: 4, b: 3, new: 1 },
  ]);
});

test('a scale-down takes unavailable machines first, as far as enough stay available', () => {
  const booting = size('new', 5, wanted(5, 10, { available: 0 }));
  const serving = size('old', 7, wanted(7, 10));
  const all = { replicas: 5, limits: { ...LIMITS, unavailable: 0 } };
  const [sizes] = scaled(booting, [serving], all);
  expect(sizes).toEqual({ new: 2, old: 5 });
  expect(scaled(booting, [serving], { replicas: 5 })[0]).toEqual({ new: 3, old: 4 });
  expect(scaled(size('new', 5, wanted(5, 10)), [serving], all)[0]).toEqual({ new: 3, old: 4 });
});

test('growth that a template takes completely is not shared', () => {
  const rule = { replicas: 10, good: 'old' };
  const after = (have: number, count: number) =>
    Object.fromEntries(grown({ current: size('new', have), old: [size('old', 0)] }, count, rule));
  expect([after(10, 5), after(4, 8), after(4, 2)]).toEqual([{}, { new: 10 }, { new: 6 }]);
});

test('added machines count for the sets that grow', () => {
  const sizes = { current: size('new', 2), old: [size('old', 4)] };
  expect(added(sizes, new Map([['new', 5]]))).toBe(3);
  expect(
    added(
      sizes,
      new Map([
        ['new', 1],
        ['old', 6],
      ]),
    ),
  ).toBe(2);
  expect(added({ ...sizes, current: undefined }, new Map([['old', 6]]))).toBe(2);
});

test('the last good set is the named one, then the most available, then one without a failure, then the newest', () => {
  const good = (old: readonly SetSize[], named?: string, failed: readonly string[] = []) =>
    lastGood(old, { named, hasFailed: (name) => failed.includes(name) });
  const [a, b] = [size('a', 3, { createdAt: 1 }), size('b', 3, { createdAt: 2 })];
  expect([good([a, b], 'a'), good([b, a], 'b'), good([a, b])]).toEqual(['a', 'b', 'b']);
  expect(good([a, { ...b, available: 2 }])).toBe('a');
  const less = { ...a, available: 1 };
  expect([good([less, b], 'a'), good([b, less], 'a')]).toEqual(['a', 'a']);
  expect([good([a, b], undefined, ['b']), good([a, b], undefined, ['a'])]).toEqual(['a', 'b']);
  expect(good([a, { ...b, replicas: 0, available: 0 }], 'b')).toBe('a');
  const emptied = [a, b].map((one) => ({ ...one, replicas: 0, available: 0 }));
  expect([good(emptied, 'a'), good(emptied)]).toEqual(['a', 'b']);
  expect(good([], 'a')).toBeUndefined();
});

test('Recreate scales the old sets to 0, waits until their machines are gone, then creates the current set', () => {
  const old = (replicas: number, actual: number) => size('old', replicas, { actual });
  expect(planRecreate({ current: undefined, old: [old(2, 2), size('gone', 0)] }, 3)).toMatchObject({
    kind: 'resize',
    resize: new Map([['old', 0]]),
  });
  expect(planRecreate({ current: size('new', 0), old: [old(0, 1), old(0, 1)] }, 3)).toEqual({
    kind: 'wait',
    because: '2 old machines still exist',
  });
  expect(planRecreate({ current: undefined, old: [old(0, 0)] }, 3)).toMatchObject({ kind: 'create' });
  expect(planRecreate({ current: size('new', 1), old: [] }, 3)).toMatchObject({
    kind: 'resize',
    resize: new Map([['new', 3]]),
  });
  expect(planRecreate({ current: size('new', 3, { available: 1 }), old: [] }, 3)).toEqual({
    kind: 'wait',
    because: '1 of 3 machines are available',
  });
  expect(planRecreate({ current: size('new', 3), old: [] }, 3)).toEqual({
    kind: 'wait',
    because: 'no old machine remains',
  });
});

test('a strategy without settings has the default limits, and Recreate has none', () => {
  const limits = (type?: 'RollingUpdate' | 'InPlaceUpdate' | 'Recreate') =>
    limitsOf(deployment(4, type ? { strategy: { type } } : {}));
  const one = { surge: 0, annotatedSurge: 0, unavailable: 1 };
  expect([limits('RollingUpdate'), limits('InPlaceUpdate')]).toEqual([one, one]);
  expect(limits('Recreate')).toEqual({ surge: 0, annotatedSurge: 0, unavailable: 0 });
});

test('the numbers of a set are the counted and the annotated ones', () => {
  const bare = set('a', 3);
  expect(sizeOf(bare, { replicas: 4, available: 2 })).toMatchObject({ replicas: 3, actual: 4, available: 2 });
  const { metadata, ...rest } = bare;
  const { annotations: _, ...own } = metadata;
  expect(sizeOf({ ...rest, metadata: own }, { replicas: 0, available: 0 })).toMatchObject({
    desired: undefined,
    max: undefined,
  });
  const counted = sizeOf(bare, { replicas: 5, available: 2, leaving: 2, held: 1, open: 1 });
  expect(counted).toMatchObject({ leaving: 2, held: 1, open: 1 });
  expect(maximumMachines(counted)).toBe(5);
});
