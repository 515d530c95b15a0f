import { describe, expect, test } from 'vitest';
import { added, type GrowthRule, grown, type LastGoodOptions, lastGood } from './growth.ts';
import type { SetSize } from './size.ts';

const size = (name: string, replicas: number, change: Partial<SetSize> = {}): SetSize => ({
  name,
  createdAt: 1,
  replicas,
  actual: replicas,
  available: replicas,
  desired: undefined,
  max: undefined,
  ...change,
});

describe('the last good set', () => {
  const failed =
    (...names: string[]): LastGoodOptions['hasFailed'] =>
    (name) =>
      names.includes(name);
  test.each<[what: string, old: SetSize[], options: Partial<LastGoodOptions>, good: string | undefined]>([
    ['does not exist without former sets', [], { named: 'a' }, undefined],
    ['is the one that last had all machines', [size('a', 1), size('b', 3)], { named: 'a' }, 'a'],
    ['is the same in any order', [size('b', 3), size('a', 1)], { named: 'a' }, 'a'],
    ['is named and empty only if all are empty', [size('a', 1), size('b', 0)], { named: 'b' }, 'a'],
    ['is named if all are empty', [size('a', 0), size('b', 0)], { named: 'b' }, 'b'],
    ['has the most available machines', [size('b', 3, { available: 1 }), size('a', 2)], {}, 'a'],
    ['has the most available machines in any order', [size('a', 2), size('b', 3, { available: 1 })], {}, 'a'],
    ['did not fail', [size('a', 2), size('b', 2, { createdAt: 2 })], { hasFailed: failed('b') }, 'a'],
    ['did not fail in any order', [size('b', 2, { createdAt: 2 }), size('a', 2)], { hasFailed: failed('b') }, 'a'],
    [
      'is the newest if all failed',
      [size('b', 2, { createdAt: 2 }), size('a', 2)],
      { hasFailed: failed('a', 'b') },
      'b',
    ],
    ['is the newest of equal ones', [size('a', 2), size('b', 2, { createdAt: 2 })], {}, 'b'],
  ])('%s', (_what, old, options, good) => {
    expect(lastGood(old, { named: undefined, hasFailed: () => false, ...options })).toBe(good);
  });
});

describe('a growth', () => {
  const OLD = size('old', 2);
  test.each<
    [what: string, current: SetSize | undefined, old: SetSize[], count: number, rule: GrowthRule, resize: object]
  >([
    ['goes to the current set', size('new', 1), [OLD], 2, { replicas: 5 }, { new: 3 }],
    ['is as large as requested', size('new', 0), [], 1, { replicas: 5 }, { new: 1 }],
    ['of one machine', size('new', 1), [], 1, { replicas: 2 }, { new: 2 }],
    ['gives it no more than the replicas', size('new', 1), [OLD], 9, { replicas: 5, good: 'old' }, { new: 5 }],
    ['gives it no more than its limit', size('new', 1), [OLD], 9, { replicas: 5, ceiling: 2 }, { new: 2 }],
    ['ignores a limit above the replicas', size('new', 1), [OLD], 9, { replicas: 5, ceiling: 7 }, { new: 5 }],
    ['takes nothing from a set above its limit', size('new', 3), [OLD], 1, { replicas: 5, ceiling: 2 }, {}],
    ['of nothing', size('new', 3), [OLD], 0, { replicas: 5, good: 'old' }, {}],
    [
      'goes to the last good set then',
      size('new', 1),
      [OLD],
      3,
      { replicas: 5, ceiling: 2, good: 'old' },
      { new: 2, old: 4 },
    ],
    [
      'of the first machine without a current set',
      undefined,
      [size('old', 0)],
      1,
      { replicas: 1, good: 'old' },
      { old: 1 },
    ],
    ['goes there alone without a current set', undefined, [OLD], 2, { replicas: 5, good: 'old' }, { old: 4 }],
    ['needs a set that is known', size('new', 1), [OLD], 3, { replicas: 5, ceiling: 1, good: 'gone' }, {}],
    [
      'counts the available machines of other former sets',
      size('new', 1),
      [size('other', 2, { available: 1 }), OLD],
      9,
      { replicas: 5, ceiling: 1, good: 'old' },
      { old: 4 },
    ],
    ['stops at the replicas', size('new', 1), [size('old', 4)], 3, { replicas: 4, ceiling: 1, good: 'old' }, {}],
    [
      'takes nothing from a last good set that is larger',
      size('new', 1),
      [size('old', 5)],
      3,
      { replicas: 4, ceiling: 1, good: 'old' },
      {},
    ],
  ])('%s', (_what, current, old, count, rule, resize) => {
    const sizes = { current, old };
    const after = grown(sizes, count, rule);
    expect(Object.fromEntries(after)).toEqual(resize);
    const before = new Map([...old, ...(current ? [current] : [])].map(({ name, replicas }) => [name, replicas]));
    const more = [...after].map(([name, replicas]) => replicas - (before.get(name) ?? 0));
    expect(added(sizes, after)).toBe(more.reduce((total, each) => total + each, 0));
  });

  test('a set that shrinks adds no machines to the growth', () => {
    expect(
      added(
        { current: size('new', 3), old: [OLD] },
        new Map([
          ['new', 1],
          ['old', 4],
        ]),
      ),
    ).toBe(2);
    expect(added({ current: undefined, old: [OLD] }, new Map())).toBe(0);
  });
});
