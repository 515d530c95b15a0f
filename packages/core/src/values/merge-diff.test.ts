import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonEquals, mergeDiff } from './merge-diff.ts';

function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyMergePatch(result[key], value);
  }
  return result;
}

test('an absent key is removed, an equal one does not change', () => {
  expect(mergeDiff({ a: 1, b: { c: 1, d: 2 }, l: [1] }, { b: { c: 1 }, l: [1] })).toEqual({ a: null, b: { d: null } });
  expect(mergeDiff({ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 2 }] } })).toBeUndefined();
});

// RFC 7386 drops the null values of a new map, so the test uses no null values.
const leaf = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.array(fc.integer(), { maxLength: 3 }));
const key = fc.constantFrom('a', 'b', 'c', 'd');
const map = fc.dictionary(key, fc.oneof(leaf, fc.dictionary(key, leaf)));

test('applied to the first object it gives the second', () => {
  fc.assert(
    fc.property(map, map, (from, to) => {
      const patch = mergeDiff(from, to);
      const result = patch ? applyMergePatch(from, patch) : from;
      expect(jsonEquals(result, to)).toBe(true);
    }),
  );
});

test('lists are equal if their items are, in order', () => {
  expect(jsonEquals([1, { a: [2] }], [1, { a: [2] }])).toBe(true);
  for (const other of [[1, { a: [3] }], [{ a: [2] }, 1], [1], [1, { a: [2] }, 3]])
    expect(jsonEquals([1, { a: [2] }], other)).toBe(false);
});
