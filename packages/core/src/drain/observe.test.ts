import type { Pod } from '@mcm/kube';
import { expect, test } from 'vitest';
import { dueAtOf } from './observe.ts';

const dying = (deletionTimestamp: string | undefined, granted: number | undefined, grace?: number): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'a',
    namespace: 'default',
    uid: 'a',
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T11:00:00Z',
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(granted === undefined ? {} : { deletionGracePeriodSeconds: granted }),
  },
  spec: grace === undefined ? {} : { terminationGracePeriodSeconds: grace },
});

test.each<[what: string, pod: Pod, due: string]>([
  ['its full grace period', dying('2026-01-01T12:00:30Z', 30, 30), '2026-01-01T12:00:30.000Z'],
  ['reported ended by its kubelet', dying('2026-01-01T12:00:00Z', 0, 30), '2026-01-01T12:00:30.000Z'],
  ['the same, of the default grace period', dying('2026-01-01T12:00:00Z', 0), '2026-01-01T12:00:30.000Z'],
  ['a shorter grace period than its own', dying('2026-01-01T12:00:10Z', 10, 30), '2026-01-01T12:00:30.000Z'],
  ['without a grace period', dying('2026-01-01T12:00:30Z', undefined, 90), '2026-01-01T12:00:30.000Z'],
  ['a longer grace period than its own', dying('2026-01-01T12:01:00Z', 60, 30), '2026-01-01T12:01:00.000Z'],
])('a terminating pod is due: %s', (_what, pod, due) => {
  expect(dueAtOf(pod)?.toISOString()).toBe(due);
});

test('a pod without a deletion is not due, even if it has a granted grace period', () => {
  expect(dueAtOf(dying(undefined, 30))).toBeUndefined();
});
