import { expect, test } from 'vitest';
import { later, pod } from '../testing.ts';
import type { DrainPod } from './observation.ts';
import { verdictOf } from './pod-filters.ts';

const bare = (change: Partial<DrainPod> = {}): DrainPod => {
  const { ownerKind: _, ...rest } = pod('a', change);
  return rest;
};

test.each<[what: string, pod: DrainPod, verdict: string, because: string]>([
  ['a static pod', pod('a', { mirror: true, dueAt: later(0) }), 'stay', 'only the kubelet can end a static pod'],
  [
    'of a DaemonSet',
    pod('a', { ownerKind: 'DaemonSet' }),
    'stay',
    'the DaemonSet would start the pod again on the same node',
  ],
  ['already deleted', pod('a', { dueAt: later(0) }), 'leaving', 'the pod is already being deleted'],
  ['one that has succeeded', pod('a', { phase: 'Succeeded' }), 'evict', 'the pod has ended'],
  ['one that has failed', pod('a', { phase: 'Failed' }), 'evict', 'the pod has ended'],
  [
    'without an owner',
    bare(),
    'evict',
    'no controller starts the pod again, but the deletion of the node ends the pod',
  ],
  [
    'with local data',
    pod('a', { localStorage: true }),
    'evict',
    'the deletion of the node deletes the local data of the pod',
  ],
  ['any other', pod('a'), 'evict', 'the controller of the pod starts a new pod on another node'],
])('a drain evicts, skips or deletes a pod with a reason: %s', (_what, given, verdict, because) => {
  expect(verdictOf(given)).toEqual({ pod: verdict, because });
});
