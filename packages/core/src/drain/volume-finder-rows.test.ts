import type { Pod } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { fixedCaches } from './testing.ts';
import { VolumeFinder } from './volumes/volume-finder.ts';

interface Claims {
  readonly claims: Readonly<Record<string, string>>;
  readonly volumes: Readonly<Record<string, 'csi' | 'nfs'>>;
}

function finderOf({ claims, volumes }: Claims): VolumeFinder {
  const caches = fixedCaches({
    claims: { store: { get: (key: string) => claims[key] && { spec: { volumeName: claims[key] } } } },
    volumes: { store: { get: (key: string) => volumes[key] && { spec: { [volumes[key]]: { volumeHandle: key } } } } },
    attachments: { store: { byIndex: () => [] } },
  });
  return new VolumeFinder(caches, ({ csi }) =>
    csi ? `${(csi as { volumeHandle: string }).volumeHandle}-id` : undefined,
  );
}

const pod = (name: string, ...claims: string[]): Pod =>
  partial<Pod>({
    metadata: { name, namespace: 'foo' },
    spec: { volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })) },
  });

const two: Claims = { claims: { 'foo/a': 'exclusive-0' }, volumes: { 'exclusive-0': 'csi' } };

test.each<[row: string, given: Claims, pods: readonly Pod[], expected: readonly (readonly string[])[]]>([
  ['S-VI1 no pods', two, [], []],
  ['S-VI2 pods without volumes', two, [pod('bar0'), pod('bar1')], [[], []]],
  ['S-VI3 a volume of its own', two, [pod('bar0', 'a')], [['exclusive-0']]],
  [
    'S-VI5 a volume that is never attached',
    { claims: { 'foo/a': 'nfs-0' }, volumes: { 'nfs-0': 'nfs' } },
    [pod('bar0', 'a')],
    [[]],
  ],
  ['S-VI6 a claim that is missing', two, [pod('bar0', 'b')], [[]]],
  ['S-VI7 a volume that is missing', { claims: { 'foo/a': 'gone' }, volumes: {} }, [pod('bar0', 'a')], [[]]],
])('%s', (_row, given, pods, expected) => {
  const finder = finderOf(given);
  expect(pods.map((each) => finder.of(each))).toEqual(expected);
});
