import { expect, test } from 'vitest';
import { missing, missingOfPatch } from './holds.ts';

const object = {
  metadata: { name: 'm', uid: 'u', resourceVersion: '7', labels: { a: '1' }, finalizers: ['x', 'y'] },
  status: { phase: 'Running', lastUpdateTime: '2026-01-01T00:00:00Z' },
};

test.each<[title: string, wanted: unknown, fields: readonly string[]]>([
  ['a part of it', { metadata: { labels: { a: '1' } } }, []],
  ['another value', { metadata: { labels: { a: '2' } } }, ['metadata.labels.a']],
  ['a field that must be absent and is absent', { metadata: { annotations: null } }, []],
  ['a field that must be absent and exists', { metadata: { labels: { a: null } } }, ['metadata.labels.a']],
  ['an undefined property', { metadata: { labels: undefined, name: undefined } }, []],
  ['an equal list', { metadata: { finalizers: ['x', 'y'] } }, []],
  ['an empty list that is not stored', { metadata: { ownerReferences: [] } }, []],
  ['another element', { metadata: { finalizers: ['x', 'z'] } }, ['metadata.finalizers[1]']],
  ['a shorter list', { metadata: { finalizers: ['x'] } }, ['metadata.finalizers']],
  [
    'another time, version and UID',
    { metadata: { uid: 'v', resourceVersion: '1' }, status: { lastUpdateTime: 'z' } },
    [],
  ],
])('%s', (_title, wanted, fields) => {
  expect(missing(object, wanted)).toEqual(fields);
});

test.each<[title: string, body: readonly object[], fields: readonly string[]]>([
  ['tests alone', [{ op: 'test', path: '/metadata/uid', value: 'other' }], []],
  ['an added value', [{ op: 'add', path: '/metadata/labels/a', value: '1' }], []],
  ['an appended value', [{ op: 'add', path: '/metadata/finalizers/-', value: 'y' }], []],
  [
    'a value that was not appended',
    [{ op: 'add', path: '/metadata/finalizers/-', value: 'z' }],
    ['metadata.finalizers.-'],
  ],
  ['a removal that was not executed', [{ op: 'remove', path: '/metadata/labels/a' }], ['metadata.labels.a']],
  ['a removal that was executed', [{ op: 'remove', path: '/metadata/labels/b~1c' }], []],
])('a JSON patch: %s', (_title, body, fields) => {
  expect(missingOfPatch(object, { type: 'json', body })).toEqual(fields);
});
