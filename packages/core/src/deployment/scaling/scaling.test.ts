import { expect, test } from 'vitest';
import type { SetSize } from '../state/size.ts';
import { planScaling, type ScaleTarget } from './scaling.ts';

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
  const { resize, annotate } = planScaling(
    { current: size('new', 1, 4), old: [size('old', 3, 4)] },
    { ...IN_PLACE, paused: false, replicas: 2 },
  );
  expect([...resize]).toEqual([]);
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
