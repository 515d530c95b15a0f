import { expect, test } from 'vitest';
import { includes, patchHolds } from './holds.ts';

const object = {
  metadata: { name: 'm', uid: 'u', resourceVersion: '7', labels: { a: '1' }, finalizers: ['x', 'y'] },
  status: { phase: 'Running', lastUpdateTime: '2026-01-01T00:00:00Z' },
};

test.each<[title: string, wanted: unknown, holds: boolean]>([
  ['a part of it', { metadata: { labels: { a: '1' } } }, true],
  ['another value', { metadata: { labels: { a: '2' } } }, false],
  ['what is to be absent and is', { metadata: { annotations: null } }, true],
  ['what is to be absent and is not', { metadata: { labels: { a: null } } }, false],
  ['a list that is the same', { metadata: { finalizers: ['x', 'y'] } }, true],
  ['a shorter list', { metadata: { finalizers: ['x'] } }, false],
  [
    'another time, version and UID',
    { metadata: { uid: 'v', resourceVersion: '1' }, status: { lastUpdateTime: 'z' } },
    true,
  ],
])('%s', (_title, wanted, holds) => {
  expect(includes(object, wanted)).toBe(holds);
});

test.each<[title: string, body: readonly object[], holds: boolean]>([
  ['tests alone', [{ op: 'test', path: '/metadata/uid', value: 'other' }], true],
  ['an added value', [{ op: 'add', path: '/metadata/labels/a', value: '1' }], true],
  ['an appended one', [{ op: 'add', path: '/metadata/finalizers/-', value: 'y' }], true],
  ['one that was not appended', [{ op: 'add', path: '/metadata/finalizers/-', value: 'z' }], false],
  ['a removal that was not done', [{ op: 'remove', path: '/metadata/labels/a' }], false],
  ['a removal that was', [{ op: 'remove', path: '/metadata/labels/b~1c' }], true],
])('a JSON patch: %s', (_title, body, holds) => {
  expect(patchHolds(object, { type: 'json', body })).toBe(holds);
});
