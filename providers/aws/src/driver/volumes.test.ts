import { expect, test } from 'vitest';
import { volumeIdOf } from './volumes.ts';

test.each<[id: string, wanted: string | undefined]>([
  ['vol-1', 'vol-1'],
  ['aws://eu-north-1a/vol-1', 'vol-1'],
  ['aws:///vol-1', 'vol-1'],
  // The package net/url of Go parses the text before the @ as the user, and the text after the @ as the host.
  ['aws://user@eu-north-1a/vol-1', 'vol-1'],
  ['aws://user:pass@eu-north-1a:7/vol-1', 'vol-1'],
  ['aws://us er@eu-north-1a/vol-1', undefined],
  ['aws://user@eu north/vol-1', undefined],
  ['aws://user@host:port/vol-1', undefined],
  ['aws://[::1]/vol-1', 'vol-1'],
  ['aws://[fe80::1%25en0]:80/vol-1', 'vol-1'],
  ['aws://a"b<c>/vol-1', 'vol-1'],
  ['aws://a%25b/vol-1', 'vol-1'],
  ['aws://a%C3%A9/vol-1', 'vol-1'],
  ['aws://a/vol-1#\n', 'vol-1'],
  ['aws://%61/vol-1', undefined],
  ['aws://%zz/vol-1', undefined],
  ['aws://[x]/vol-1', undefined],
  ['aws://[]/vol-1', undefined],
  ['aws://[10.0.0.1]/vol-1', undefined],
  ['aws://a[::1]/vol-1', undefined],
  ['aws://[::1/vol-1', undefined],
  ['aws://[::1]x/vol-1', undefined],
  ['aws://{a}/vol-1', undefined],
  ['aws://a\\b/vol-1', undefined],
  ['aws://a:1:2/vol-1', undefined],
  ['aws://u%zz@a/vol-1', undefined],
  ['aws://a/vol-1#%zz', undefined],
])('%s is the volume %s', (volumeID, wanted) => {
  expect(volumeIdOf({ awsElasticBlockStore: { volumeID } })).toBe(wanted);
});
