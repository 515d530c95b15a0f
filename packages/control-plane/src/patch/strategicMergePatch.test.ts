import { describe, expect, it } from 'vitest';
import type { JsonSchema } from '../apimachinery/objects/kind.ts';
import type { JsonObject } from '../apimachinery/objects/object.ts';
import { StatusError } from '../apimachinery/objects/status.ts';
import { applyStrategicMergePatch } from './strategicMergePatch.ts';

const merged = (key: string, properties: Record<string, JsonSchema>): JsonSchema => ({
  type: 'array',
  'x-kubernetes-patch-strategy': 'merge',
  'x-kubernetes-patch-merge-key': key,
  items: { type: 'object', properties },
});
const schema: JsonSchema = {
  type: 'object',
  properties: {
    containers: merged('name', { env: merged('name', {}), args: { type: 'array' } }),
    finalizers: { type: 'array', items: { type: 'string' }, 'x-kubernetes-patch-strategy': 'merge' },
    tolerations: { type: 'array' },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    strategy: { type: 'object', 'x-kubernetes-patch-strategy': 'retainKeys' },
  },
};
const patch = (target: JsonObject, change: JsonObject): JsonObject => applyStrategicMergePatch(target, change, schema);
const refusal = (target: JsonObject, change: JsonObject): StatusError['status'] => {
  try {
    patch(target, change);
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
  throw new Error('nothing was refused');
};
const names = (object: JsonObject): string[] => (object.containers as { name: string }[]).map(({ name }) => name);
const three: JsonObject = {
  containers: [
    { name: 'a', v: 1 },
    { name: 'b', v: 2 },
    { name: 'c', v: 3 },
  ],
};

describe('lists that merge', () => {
  it('merged lists match items by key, at any depth', () => {
    const target: JsonObject = { containers: [{ name: 'a', image: 'i', env: [{ name: 'A', value: '1' }] }] };
    expect(
      patch(target, {
        containers: [
          {
            name: 'a',
            env: [
              { name: 'A', value: '2' },
              { name: 'B', value: '3' },
            ],
          },
        ],
      }),
    ).toEqual({
      containers: [
        {
          name: 'a',
          image: 'i',
          env: [
            { name: 'A', value: '2' },
            { name: 'B', value: '3' },
          ],
        },
      ],
    });
  });

  it('merged lists put new items first, as the server orders them', () => {
    expect(names(patch(three, { containers: [{ name: 'd' }] }))).toEqual(['d', 'a', 'b', 'c']);
    expect(patch({ finalizers: ['a', 'b'] }, { finalizers: ['c', 'a'] })).toEqual({ finalizers: ['c', 'a', 'b'] });
  });

  it('merged lists lose an item by $patch: delete, and are replaced by $patch: replace', () => {
    expect(names(patch(three, { containers: [{ name: 'b', $patch: 'delete' }] }))).toEqual(['a', 'c']);
    expect(names(patch(three, { containers: [{ $patch: 'replace' }, { name: 'z' }] }))).toEqual(['z']);
  });

  it('merged lists have the order of $setElementOrder, and other items keep their position', () => {
    const order = (list: string[]): JsonObject => ({ '$setElementOrder/containers': list.map((name) => ({ name })) });
    expect(names(patch(three, order(['c', 'a', 'b'])))).toEqual(['c', 'a', 'b']);
    expect(names(patch(three, { ...order(['b', 'd', 'a', 'c']), containers: [{ name: 'd' }] }))).toEqual([
      'b',
      'd',
      'a',
      'c',
    ]);
    expect(names(patch(three, order(['c', 'b'])))).toEqual(['a', 'c', 'b']);
  });

  it('merged lists of scalars lose the values in $deleteFromPrimitiveList', () => {
    expect(patch({ finalizers: ['a', 'b', 'c'] }, { '$deleteFromPrimitiveList/finalizers': ['a', 'c'] })).toEqual({
      finalizers: ['b'],
    });
  });
});

describe('everything else', () => {
  it('a strategic merge patch replaces lists without a strategy', () => {
    expect(patch({ tolerations: [{ key: 'a' }] }, { tolerations: [{ key: 'b' }] })).toEqual({
      tolerations: [{ key: 'b' }],
    });
    expect(
      patch({ containers: [{ name: 'a', args: ['1', '2'] }] }, { containers: [{ name: 'a', args: ['3'] }] }),
    ).toEqual({
      containers: [{ name: 'a', args: ['3'] }],
    });
  });

  it('a strategic merge patch merges maps, removes nulls, and applies $patch to maps', () => {
    expect(patch({ labels: { a: '1', b: '2' } }, { labels: { a: null, c: '3' } })).toEqual({
      labels: { b: '2', c: '3' },
    });
    expect(patch({ labels: { a: '1' } }, { labels: { $patch: 'replace', z: '9' } })).toEqual({ labels: { z: '9' } });
    expect(patch({ labels: { a: '1' } }, { labels: { $patch: 'delete' } })).toEqual({ labels: {} });
  });

  it('a strategic merge patch keeps only the fields that $retainKeys names', () => {
    const target: JsonObject = { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } };
    expect(patch(target, { strategy: { $retainKeys: ['type'], type: 'Recreate' } })).toEqual({
      strategy: { type: 'Recreate' },
    });
  });

  it('a strategic merge patch removes the fields that $patch deletes, and keeps other directives if the target has no value', () => {
    expect(
      patch(
        {},
        {
          containers: [
            { name: 'a', $patch: 'delete' },
            { name: 'b', $retainKeys: ['name'], x: null },
          ],
        },
      ),
    ).toEqual({
      containers: [{ name: 'b', $retainKeys: ['name'] }],
    });
  });

  it('a strategic merge patch does not change the target', () => {
    const before = JSON.stringify(three);
    patch(three, { containers: [{ name: 'a', v: 9 }] });
    expect(JSON.stringify(three)).toBe(before);
  });
});

describe('refusals', () => {
  it.each([
    [{ containers: [{ image: 'x' }] }, 500, 'map: map[image:x] does not contain declared merge key: name'],
    [{ labels: { $patch: 'odd' } }, 500, 'unknown patch type: odd in map: map[$patch:odd]'],
    [{ strategy: { $retainKeys: 'x' } }, 400, 'invalid patch format of retainKeys'],
    [{ '$setElementOrder/containers': 'x' }, 500, 'expected a []interface {}, but received a string'],
  ] as [JsonObject, number, string][])('%j', (change, code, message) => {
    expect(refusal({ ...three, labels: { a: '1' }, strategy: {} }, change)).toMatchObject({ code, message });
  });
});

describe('large lists', () => {
  /** Creates list items that count the reads of their names. */
  const counted = (count: number, prefix: string, extra: JsonObject, onRead: () => void): JsonObject[] =>
    Array.from({ length: count }, (_, at) =>
      Object.defineProperty({ ...extra }, 'name', {
        enumerable: true,
        get: () => {
          onRead();
          return `${prefix}${at}`;
        },
      }),
    );

  it.each([
    ['new items', 'new', {}],
    ['the same items', 'old', { v: 2 }],
    ['deleted items', 'old', { $patch: 'delete' }],
  ])('large lists are merged in a time proportional to their length: %s', (_, prefix, extra) => {
    const reads = (count: number): number => {
      let read = 0;
      const onRead = (): void => {
        read += 1;
      };
      const containers = counted(count, 'old', {}, onRead);
      const change = counted(count, prefix, extra, onRead);
      const $setElementOrder = Array.from({ length: count }, (_, at) => ({ name: `${prefix}${at}` }));
      patch({ containers }, { containers: change });
      patch({ containers }, { containers: change, '$setElementOrder/containers': $setElementOrder });
      return read;
    };
    // For ten times as many items, the merge needs little more than ten times the reads. If the merge compared all
    // pairs, it would need 100 times the reads.
    expect(reads(1000) / reads(100)).toBeLessThan(20);
  });
});
