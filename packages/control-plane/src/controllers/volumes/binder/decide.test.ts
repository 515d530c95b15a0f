import { describe, expect, test } from 'vitest';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { type ClaimView, decideClaim, decideVolume } from './decide.ts';

const BOUND = { 'pv.kubernetes.io/bind-completed': 'yes' };

const claim = (spec: object = {}, annotations: Record<string, string> = {}, phase = 'Pending'): ApiObject => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'c', namespace: 'x', uid: 'u', annotations },
  spec: {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    storageClassName: 'slow',
    volumeMode: 'Filesystem',
    ...spec,
  },
  status: { phase },
});

const volume = (spec: object = {}, metadata: object = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'v', ...metadata },
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '1Gi' },
    storageClassName: 'slow',
    volumeMode: 'Filesystem',
    ...spec,
  },
  status: { phase: 'Available' },
});

const own = { claimRef: { namespace: 'x', name: 'c', uid: 'u' } };
const other = { claimRef: { namespace: 'x', name: 'd', uid: 'w' } };
const event = (reason: string) => expect.objectContaining({ reason });

describe('a claim', () => {
  test.each<[string, Partial<ClaimView>, object]>([
    ['takes a free volume', { candidates: [volume()] }, { kind: 'bind', volume: volume() }],
    [
      'takes the default class if it asks for none',
      { claim: claim({ storageClassName: undefined }), defaultClass: 'fast' },
      { kind: 'use class', name: 'fast' },
    ],
    ['gets a volume of its class', {}, { kind: 'provision' }],
    [
      'without a class stays pending',
      { claim: claim({ storageClassName: '' }) },
      { kind: 'phase', phase: 'Pending', event: event('FailedBinding') },
    ],
    [
      'of a delayed class waits for its first pod',
      { delayed: true },
      { kind: 'phase', phase: 'Pending', event: event('WaitForFirstConsumer') },
    ],
    [
      'of a delayed class waits for its pods to get a node',
      { delayed: true, unscheduledPods: ['p'] },
      { kind: 'phase', phase: 'Pending', event: event('WaitForPodScheduled') },
    ],
    [
      'takes the volume that it names',
      { claim: claim({ volumeName: 'v' }), named: volume() },
      { kind: 'bind', volume: volume() },
    ],
    ['waits for the volume that it names', { claim: claim({ volumeName: 'v' }) }, { kind: 'phase', phase: 'Pending' }],
    [
      'does not take the volume of another claim',
      { claim: claim({ volumeName: 'v' }), named: volume(other) },
      { kind: 'phase', phase: 'Pending', event: event('FailedBinding') },
    ],
    [
      'does not take a volume of another class',
      { claim: claim({ volumeName: 'v' }), named: volume({ storageClassName: 'fast' }) },
      { kind: 'phase', phase: 'Pending', event: event('VolumeMismatch') },
    ],
    [
      'without its volume is lost',
      { claim: claim({ volumeName: 'v' }, BOUND, 'Bound') },
      { kind: 'phase', phase: 'Lost', event: event('ClaimLost') },
    ],
    ['is lost once', { claim: claim({ volumeName: 'v' }, BOUND, 'Lost') }, { kind: 'nothing' }],
    [
      'whose volume belongs to another claim is lost',
      { claim: claim({ volumeName: 'v' }, BOUND, 'Bound'), named: volume(other) },
      { kind: 'phase', phase: 'Lost', event: event('ClaimMisbound') },
    ],
  ])('%s', (_title, facts, step) => {
    const view = {
      claim: claim(),
      named: undefined,
      candidates: [],
      delayed: false,
      defaultClass: undefined,
      unscheduledPods: [],
    };
    expect(decideClaim({ ...view, ...facts })).toEqual(step);
  });
});

describe('a volume', () => {
  const provisioned = { annotations: { 'pv.kubernetes.io/provisioned-by': 'x.dev' } };
  test.each<[string, ApiObject, ApiObject | undefined, object]>([
    ['without a claim is available', volume(), undefined, { kind: 'phase', phase: 'Available' }],
    ['of its claim is bound', volume(own), claim({ volumeName: 'v' }), { kind: 'phase', phase: 'Bound' }],
    ['is reclaimed when its claim is gone', volume(own), undefined, { kind: 'reclaim' }],
    [
      'is reclaimed when its claim was replaced',
      volume({ claimRef: { ...own.claimRef, uid: 'w' } }),
      claim(),
      { kind: 'reclaim' },
    ],
    ['whose claim took another volume is free again', volume(own), claim({ volumeName: 'w' }), { kind: 'unbind' }],
    [
      'that was provisioned for a claim with another volume is reclaimed',
      volume({ ...own, persistentVolumeReclaimPolicy: 'Delete' }, provisioned),
      claim({ volumeName: 'w' }),
      { kind: 'reclaim' },
    ],
    [
      'with a claim that has no volume leaves the decision to the claim',
      volume(own),
      claim(),
      { kind: 'ask claim', claim: claim() },
    ],
    [
      'of another mode is reported',
      volume({ ...own, volumeMode: 'Block' }),
      claim(),
      expect.objectContaining({ kind: 'report' }),
    ],
  ])('%s', (_title, given, its, step) => {
    expect(decideVolume(given, its)).toEqual(step);
  });
});
