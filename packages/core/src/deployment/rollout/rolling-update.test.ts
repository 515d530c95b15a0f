import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fenceposts, limitsOf, resolveIntOrPercent } from '../../objects/limits.ts';
import { deployment, set } from '../../set/test-objects.ts';
import { isSaturated, isScalingEvent, planScaling } from '../scaling/scaling.ts';
import { checkPlan } from '../state/guard.ts';
import { maximumMachines, type SetSize } from '../state/size.ts';
import { surplusHistory } from './history.ts';
import { currentReplicas, planRollingUpdate, type RolloutTarget, shrinkOld } from './rolling-update.ts';

const size = (name: string, replicas: number, more: Partial<SetSize> = {}): SetSize => ({
  name,
  createdAt: 0,
  replicas,
  actual: replicas,
  available: replicas,
  desired: undefined,
  max: undefined,
  ...more,
});

describe('limits', () => {
  test.each([
    ['25%', '25%', 4, 1, 1],
    ['25%', '25%', 3, 1, 0],
    ['1%', '0%', 1, 1, 0],
    ['0%', '1%', 2, 0, 1],
    ['30%', '30%', 10, 3, 3],
    [0, 0, 5, 0, 1],
  ])('U-05 surge %s, unavailable %s of %i', (surge, unavailable, replicas, wantSurge, wantUnavailable) => {
    expect(fenceposts(surge, unavailable, replicas)).toEqual({ surge: wantSurge, unavailable: wantUnavailable });
  });
  test('Manual ignores surge, so something may be unavailable [U-04]', () => {
    const inPlace = (orchestrationType: 'Auto' | 'Manual') =>
      limitsOf(
        deployment(5, {
          strategy: { type: 'InPlaceUpdate', inPlaceUpdate: { maxSurge: 1, maxUnavailable: 0, orchestrationType } },
        }),
      );
    expect([inPlace('Manual').unavailable, inPlace('Auto').unavailable]).toEqual([1, 0]);
  });
  test('a text without a percent sign is not a number [X-07]', () => {
    expect(resolveIntOrPercent('10', 5, 'up')).toBeUndefined();
    expect(resolveIntOrPercent('-10%', 5, 'up')).toBeUndefined();
  });
  test('no more may be unavailable than exist', () => {
    expect(
      limitsOf(
        deployment(2, { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 5 } } }),
      ).unavailable,
    ).toBe(2);
  });
});

describe('one step', () => {
  const target = { replicas: 10, surge: 3, unavailable: 2 };
  test.each([
    ['U-06 one machine is allowed', 4, 2, 3],
    ['U-06 no room', 4, 3, 3],
  ])('%s', (_title, old, current, want) => {
    expect(
      currentReplicas(
        { current: size('new', current), old: [size('old', old)] },
        { replicas: 5, surge: 2, unavailable: 0 },
      ),
    ).toBe(want);
  });
  test('terminating machines delay the surge [incident 24]', () => {
    const sizes = { current: size('new', 2), old: [size('old', 2, { actual: 4 })] };
    expect(currentReplicas(sizes, { replicas: 5, surge: 1, unavailable: 0 })).toBe(2);
  });
  test('nothing happens while the new ones are not available [W-14]', () => {
    expect(shrinkOld({ current: size('new', 5, { available: 0 }), old: [size('old', 8)] }, target)).toEqual(new Map());
  });
  test('after a return to the former template, unhealthy ones are deleted first [W-15]', () => {
    expect(
      shrinkOld({ current: size('new', 8, { available: 7 }), old: [size('old', 5, { available: 0 })] }, target),
    ).toEqual(new Map([['old', 1]]));
  });
  test('a third template removes the half-rolled second [W-16]', () => {
    const old = [size('a', 8, { createdAt: 1 }), size('b', 5, { available: 0, createdAt: 2 })];
    expect(shrinkOld({ current: size('new', 0), old }, target)).toEqual(new Map([['b', 0]]));
  });
  test('more available machines than replicas are no error [W-17, ODD-5 corrected]', () => {
    const sizes = { current: size('new', 3), old: [size('old', 2, { available: 3, actual: 3 })] };
    expect(shrinkOld(sizes, { replicas: 4, surge: 1, unavailable: 0 })).toEqual(new Map([['old', 1]]));
  });
  test('without replicas the last machine is deleted too', () => {
    expect(
      shrinkOld({ current: size('new', 0), old: [size('old', 2)] }, { replicas: 0, surge: 1, unavailable: 0 }),
    ).toEqual(new Map([['old', 0]]));
  });
  test('100 % unavailable does not remove all machines [incident 10]', () => {
    expect(
      shrinkOld({ current: size('new', 0), old: [size('old', 3)] }, { replicas: 3, surge: 0, unavailable: 3 }),
    ).toEqual(new Map([['old', 1]]));
  });
});

function rollout(target: RolloutTarget): string[] {
  const lines: string[] = [];
  let old = target.replicas;
  let current = Math.min(target.surge, target.replicas);
  for (let step = 0; step < 100; step++) {
    lines.push(`${old}/${current}`);
    const sizes = { current: size('new', current), old: [size('old', old)] };
    const { resize } = planRollingUpdate(sizes, target);
    if (resize.size === 0) return lines;
    old = resize.get('old') ?? old;
    current = resize.get('new') ?? current;
  }
  throw new Error(`never ends: ${lines.join(', ')}`);
}

describe('whole rollouts', () => {
  test.each<[string, RolloutTarget, string]>([
    ['W-11', { replicas: 3, surge: 1, unavailable: 0 }, '3/1, 2/1, 2/2, 1/2, 1/3, 0/3'],
    ['W-12', { replicas: 3, surge: 0, unavailable: 1 }, '3/0, 2/0, 2/1, 1/1, 1/2, 0/2, 0/3'],
    ['W-13', { replicas: 5, surge: 1, unavailable: 1 }, '5/1, 3/1, 3/3, 1/3, 1/5, 0/5'],
    [
      'ten per cent',
      { replicas: 100, surge: 10, unavailable: 0 },
      Array.from({ length: 10 }, (_, i) => `${100 - 10 * i}/${10 * (i + 1)}, ${90 - 10 * i}/${10 * (i + 1)}`).join(
        ', ',
      ),
    ],
    ['one machine, without a surge', { replicas: 1, surge: 0, unavailable: 1 }, '1/0, 0/0, 0/1'],
    ['all at once', { replicas: 3, surge: 0, unavailable: 3 }, '3/0, 1/0, 1/2, 0/2, 0/3'],
  ])('%s', (_title, target, transcript) => {
    expect(rollout(target).join(', ')).toBe(transcript);
  });
});

describe('scaling', () => {
  const scale = (
    sets: SetSize[],
    replicas: number,
    surge: number,
    more: {
      statusReplicas?: number;
      current?: boolean;
      strategy?: string;
      unavailable?: number;
      paused?: boolean;
    } = {},
  ) => {
    const current = more.current === false ? undefined : sets.at(-1);
    const old = more.current === false ? sets : sets.slice(0, -1);
    const limits = { surge, annotatedSurge: surge, unavailable: more.unavailable ?? 0 };
    const { resize, annotate } = planScaling(
      { current, old },
      {
        replicas,
        limits,
        strategy: more.strategy ?? 'RollingUpdate',
        statusReplicas: more.statusReplicas ?? 0,
        paused: more.paused ?? false,
      },
    );
    return { sizes: sets.map((s) => resize.get(s.name) ?? s.replicas), annotate };
  };
  const sets = (...replicas: number[]) =>
    replicas.map((r, i) => size(`s${i}`, r, { createdAt: i, desired: 7, max: 9 }));
  test('the largest set loses the remainder [S-02]', () => {
    expect(scale(sets(1, 3, 5), 3, 2)).toEqual({ sizes: [1, 2, 2], annotate: ['s0', 's1', 's2'] });
  });
  test('only annotations are refreshed [S-05]', () => {
    expect(scale([size('old', 1, { desired: 2, max: 3 })], 1, 2, { current: false })).toEqual({
      sizes: [1],
      annotate: ['old'],
    });
  });
  test('the user scales to 0 [S-06]', () => {
    expect(scale([size('old', 2, { max: 6 }), size('new', 4, { max: 6, createdAt: 1 })], 0, 1).sizes).toEqual([0, 0]);
  });
  test('growth below the free surge goes to the current set [S-07]', () => {
    expect(scale([size('old', 8, { max: 12 }), size('new', 2, { max: 12 })], 9, 2).sizes).toEqual([8, 3]);
  });
  test('without an annotation the status is used [S-09]', () => {
    expect(scale([size('old', 4), size('new', 4, { createdAt: 1 })], 4, 1, { statusReplicas: 8 }).sizes).toEqual([
      2, 3,
    ]);
  });
  test('the only active set is scaled, even if it is old [S-10]', () => {
    expect(scale([size('old', 3), size('new', 0)], 5, 1).sizes).toEqual([5, 0]);
  });
  test('without an active set the newest gets all [S-11]', () => {
    expect(
      scale([size('older', 0, { createdAt: 1 }), size('newer', 0, { createdAt: 2 })], 2, 1, { current: false }).sizes,
    ).toEqual([0, 2]);
  });
  test('next to a saturated set the others are scaled to 0 [S-12]', () => {
    expect(scale([size('old', 2), size('new', 4, { desired: 4 })], 4, 1).sizes).toEqual([0, 4]);
  });
  test('other strategies get new annotations, so the scaling event ends [S-13, BUG-5 corrected]', () => {
    expect(
      scale([size('old', 2, { desired: 3 }), size('new', 1, { desired: 3 })], 4, 0, { strategy: 'InPlaceUpdate' })
        .annotate,
    ).toEqual(['old', 'new']);
  });
  test.each([
    ['S-14 all as annotated', [3, 3], [1, 1], 3, false],
    ['S-14 one set differs', [3, 4], [1, 1], 3, true],
    ['S-14 no set is annotated', [undefined, undefined], [1, 1], 3, false],
    ['S-14 no set is active', [3, 3], [0, 0], 1, true],
    ['S-14 no set is active, with 0 replicas', [3, 3], [0, 0], 0, false],
  ])('%s', (_title, desired, replicas, wanted, event) => {
    const [old, current] = desired.map((d, i) => size(`s${i}`, replicas[i] ?? 0, { desired: d }));
    expect(isScalingEvent({ current, old: old ? [old] : [] }, wanted)).toBe(event);
    expect(isScalingEvent({ current: undefined, old: old ? [old] : [] }, wanted)).toBe(false);
  });
  test('a pause changes no sizes until the user scales [3.8]', () => {
    const half = (desired: number) => [size('old', 3, { desired }), size('new', 1, { desired, createdAt: 1 })];
    expect(scale(half(3), 3, 3, { paused: true }).sizes).toEqual([3, 1]);
    expect(scale(half(3), 5, 3, { paused: true }).sizes).toEqual([3, 5]);
    expect(scale(half(3), 2, 0, { paused: true }).sizes).toEqual([1, 1]);
    expect(scale(half(3), 3, 0, { paused: true }).sizes).toEqual([2, 1]);
    const arrived = [size('old', 1, { desired: 3 }), size('new', 3, { desired: 3, createdAt: 1 })];
    expect(scale(arrived, 3, 1, { paused: true }).sizes).toEqual([1, 3]);
  });
  test('growth during a pause stays requested until terminating machines leave room [3.8]', () => {
    const given = (gone: boolean) => [
      size('old', 3, { desired: 3, actual: gone ? 3 : 5 }),
      size('new', 1, { desired: gone ? 5 : 3, createdAt: 1 }),
    ];
    expect(scale(given(false), 5, 1, { paused: true })).toEqual({ sizes: [3, 1], annotate: [] });
    expect(scale(given(true), 5, 1, { paused: true })).toEqual({ sizes: [3, 3], annotate: ['old', 'new'] });
  });
  test('a scale-down deletes starting machines before available ones [incident 9]', () => {
    const given = [size('old', 8, { max: 13 }), size('new', 5, { available: 0, max: 13, createdAt: 1 })];
    const { sizes } = scale(given, 8, 3, { unavailable: 0 });
    expect(sizes).toEqual([8, 3]);
  });
});

describe('in every history', () => {
  const setArb = (name: string) =>
    fc
      .record({
        replicas: fc.nat(20),
        extra: fc.nat(5),
        lost: fc.nat(20),
        createdAt: fc.nat(3),
        desired: fc.option(fc.nat(25), { nil: undefined }),
        max: fc.option(fc.nat(30), { nil: undefined }),
      })
      .map(({ replicas, extra, lost, ...rest }): SetSize => {
        const actual = Math.max(replicas + extra - lost, 0);
        return size(name, replicas, { ...rest, actual, available: Math.floor(actual / 2) });
      });
  const world = fc.record({
    current: setArb('new'),
    old: fc.tuple(setArb('a'), setArb('b')),
    replicas: fc.nat(20),
    surge: fc.nat(5),
    unavailable: fc.nat(5),
  });

  test('a step of a rollout keeps every bound', () => {
    fc.assert(
      fc.property(world, ({ current, old, replicas, surge, unavailable }) => {
        const limit = surge === 0 && unavailable === 0 ? 1 : Math.min(unavailable, replicas);
        const sizes = { current, old };
        const { resize } = planRollingUpdate(sizes, { replicas, surge, unavailable: limit });
        checkPlan(sizes, resize, { replicas, surge, unavailable: limit, strategy: 'RollingUpdate' });
        const available = (s: SetSize) => Math.min(s.available, s.replicas);
        const now = [current, ...old].reduce((n, s) => n + available(s), 0);
        const then = [current, ...old].reduce(
          (n, s) => n + Math.min(available(s), s === current ? s.replicas : (resize.get(s.name) ?? s.replicas)),
          0,
        );
        if (!resize.has('new')) {
          const healthyCut = old.reduce(
            (n, s) => n + Math.max(available(s) - (resize.get(s.name) ?? s.replicas), 0),
            0,
          );
          expect(then).toBe(now - healthyCut);
          if (healthyCut > 0) expect(then).toBeGreaterThanOrEqual(Math.min(replicas - limit, now));
        }
        for (const [name, to] of resize)
          if (name !== 'new') expect(to).toBeLessThan(old.find((s) => s.name === name)?.replicas ?? 0);
      }),
      { numRuns: 2000 },
    );
  });

  test('scaling keeps every bound', () => {
    fc.assert(
      fc.property(world, ({ current, old, replicas, surge, unavailable }) => {
        const sizes = { current, old };
        const limits = { surge, annotatedSurge: surge, unavailable: Math.min(unavailable, replicas) };
        const { resize } = planScaling(sizes, { replicas, limits, strategy: 'RollingUpdate', statusReplicas: 7 });
        checkPlan(sizes, resize, { replicas, surge, unavailable: 0, strategy: 'RollingUpdate' });
        const sum = (of: (s: SetSize) => number) => [current, ...old].reduce((n, s) => n + of(s), 0);
        const before = sum((s) => s.replicas);
        const total = sum((s) => resize.get(s.name) ?? s.replicas);
        const held = sum((s) => Math.max(s.replicas, s.actual)) >= replicas + surge;
        if (replicas > 0 && !(before === 0 && held)) expect(total).toBeGreaterThan(0);
        else expect(total).toBe(0);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('space of machines that still exist', () => {
  test('a terminating machine above the replicas counts in full', () => {
    expect([
      maximumMachines(size('a', 3, { actual: 4, leaving: 1 })),
      maximumMachines(size('a', 3, { actual: 4 })),
    ]).toEqual([4, 4]);
    expect(maximumMachines(size('a', 3, { actual: 3, leaving: 1 }))).toBe(4);
  });
  test('the only set grows when the machines of scaled-down sets are deleted, and not before', () => {
    const target = {
      replicas: 5,
      limits: { surge: 0, annotatedSurge: 0, unavailable: 1 },
      strategy: 'RollingUpdate',
      statusReplicas: 4,
    };
    const scaled = (actual: number) =>
      planScaling({ current: size('new', 2), old: [size('old', 0, { actual })] }, target).resize.get('new');
    expect([scaled(2), scaled(1), scaled(0)]).toEqual([3, 4, 5]);
  });
  test('a current set is saturated when all its machines are available', () => {
    expect([2, 3].map((available) => isSaturated(size('new', 3, { desired: 3, available }), 3))).toEqual([false, true]);
  });
  test('a set with machines that a breaker keeps does not shrink, because it would delete these first', () => {
    const shrunk = (held: number) =>
      shrinkOld(
        { current: size('new', 2), old: [size('old', 3, { available: 2, held })] },
        { replicas: 4, surge: 1, unavailable: 1 },
      );
    expect([shrunk(1).size, shrunk(0).get('old')]).toEqual([0, 1]);
  });
  test('a set that has not seen its last size is kept in the history [2.8]', () => {
    const old = (observedGeneration: number) => {
      const one = set('old', 0);
      return { ...one, metadata: { ...one.metadata, generation: 2 }, status: { observedGeneration } };
    };
    const removed = (observedGeneration: number) => surplusHistory([old(observedGeneration)], () => 0, 0).length;
    expect([removed(1), removed(2)]).toEqual([0, 1]);
  });
});
