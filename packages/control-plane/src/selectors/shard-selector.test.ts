import { expect, test } from 'vitest';
import type { StoredRecord } from '../store/record.ts';
import { parseShardSelector, shardHash } from './shard-selector.ts';

const record = (namespace: string, uid: string): StoredRecord => ({
  namespace,
  name: 'a',
  revision: 1,
  json: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","ownerReferences":[{"uid":"other"}],"uid":"${uid}"}}`,
  labels: undefined,
  fields: undefined,
});
const HALF = '0x8000000000000000';

// The values are the published test vectors of FNV-1a with 64 bits.
test.each([
  ['', 0xcbf29ce484222325n],
  ['a', 0xaf63dc4c8601ec8cn],
  ['foobar', 0x85944171f73967e8n],
])('the hash of %j', (text, hash) => expect(shardHash(text)).toBe(hash));

test('the ranges of all shards contain each object once', () => {
  const shards = [
    `shardRange(object.metadata.uid, '0x0', '${HALF}')`,
    `shardRange(object.metadata.uid, "${HALF}", "0x10000000000000000")`,
  ];
  for (const uid of ['a', 'foobar', '', '0b5f4a1e-58cc-4372-a567-0e02b2c3d479'])
    expect(shards.filter((shard) => parseShardSelector(shard)?.(record('x', uid)))).toHaveLength(1);
  const both = parseShardSelector(shards.join(' || '));
  expect(both?.(record('x', 'a')) && both(record('x', 'b'))).toBe(true);
});

test('a range contains its start and not its end, and may use the namespace', () => {
  const hash = shardHash('shoot--a');
  const of = (start: bigint, end: bigint) =>
    parseShardSelector(`shardRange(object.metadata.namespace,'0x${start.toString(16)}','0x${end.toString(16)}')`);
  expect(of(hash, hash + 1n)?.(record('shoot--a', 'u'))).toBe(true);
  expect(of(hash - 1n, hash)?.(record('shoot--a', 'u'))).toBe(false);
  expect(of(hash, hash + 1n)?.(record('shoot--b', 'u'))).toBe(false);
});

test.each([
  'shardRange()',
  "shardRange(object.metadata.name, '0x0', '0x1')",
  "shardRange(object.metadata.uid, '0', '1')",
  "shardRange(object.metadata.uid, '0x1', '0x1')",
  "shardRange(object.metadata.uid, '0x0', '0x10000000000000001')",
  "shardRange(object.metadata.uid, '0x0', '0x1') && true",
  "shardRange(object.metadata.uid, '0x0', '0x1') ||",
])('%s is refused', (text) => expect(() => parseShardSelector(text)).toThrow('invalid shardSelector'));
