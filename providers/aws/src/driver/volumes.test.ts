import { expect, test } from 'vitest';
import { volumeIdOf } from './volumes.ts';

test.each<[id: string, wanted: string | undefined]>([
  ['vol-1', 'vol-1'],
  ['aws://eu-north-1a/vol-1', 'vol-1'],
  ['aws:///vol-1', 'vol-1'],
  // net/url in Go parses the text before the @ as the user, and the text after the @ as the host.
  ['aws://user@eu-north-1a/vol-1', 'vol-1'],
  ['aws://user:pass@eu-north-1a:7/vol-1', 'vol-1'],
  ['aws://us er@eu-north-1a/vol-1', undefined],
  ['aws://user@eu north/vol-1', undefined],
  ['aws://user@host:port/vol-1', undefined],
])('%s is the volume %s', (volumeID, wanted) => {
  expect(volumeIdOf({ awsElasticBlockStore: { volumeID } })).toBe(wanted);
});
