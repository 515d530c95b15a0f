import { expect, test } from 'vitest';
import { namesVolume } from './volume-finder.ts';

test.each<[attached: string, id: string, same: boolean]>([
  ['kubernetes.io/csi/ebs.csi.aws.com^vol-1', 'vol-1', true],
  ['kubernetes.io/aws-ebs/aws://eu-west-1a/vol-1', 'vol-1', true],
  ['vol-1', 'vol-1', true],
  ['kubernetes.io/csi/ebs.csi.aws.com^vol-12', 'vol-1', false],
  ['kubernetes.io/csi/ebs.csi.aws.com^my-vol-1', 'vol-1', false],
  ['kubernetes.io/csi/vol-12^vol-1', 'vol-1', true],
  ['kubernetes.io/csi/x^a.b', 'a.b', true],
  ['kubernetes.io/csi/x^aXb', 'a.b', false],
  ['kubernetes.io/csi/x^[', '[', true],
  ['kubernetes.io/csi/x^vol-1', '', false],
])('%s is volume %j: %s', (attached, id, same) => {
  expect(namesVolume(attached, id)).toBe(same);
});
