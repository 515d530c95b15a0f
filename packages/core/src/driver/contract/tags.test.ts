import { expect, test } from 'vitest';
import { listedTags, splitTagChanges } from './tags.ts';

test('a list contains only the tags that the caller needs, and no tags without a request', () => {
  const tags = { a: '1', b: '2', n: 3 };
  expect(listedTags(tags, ['a', 'n', 'x'])).toEqual({ tags: { a: '1' } });
  expect(listedTags(undefined, ['a'])).toEqual({ tags: {} });
  expect(listedTags(tags, undefined)).toEqual({});
});

test('changes that the VM already has are not necessary', () => {
  const changes = { a: '1', b: '2', c: null, d: null };
  expect(splitTagChanges(changes, { a: '1', b: '1', c: '1' })).toEqual({ set: { b: '2' }, remove: ['c'] });
  expect(splitTagChanges(changes)).toEqual({ set: { a: '1', b: '2' }, remove: ['c', 'd'] });
});
