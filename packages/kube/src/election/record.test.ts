import { expect, test } from 'vitest';
import type { Lease } from '../types/groups.ts';
import { claim, HOLDER_SETTINGS, HOLDER_VERSION, holderSettings, holderVersion } from './record.ts';

test('a duration that is no whole second is written longer, never shorter', () => {
  expect(claim(undefined, 'a', 1500, new Date(0)).leaseDurationSeconds).toBe(2);
});

test('what a holder says of itself counts for nobody else: candidates of client-go leave it behind', () => {
  const lease = (holderIdentity: string): Lease => ({
    ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', spec: { holderIdentity } },
    metadata: {
      ...{ name: 'lock', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
      annotations: { [HOLDER_VERSION]: '1.2.3 a', [HOLDER_SETTINGS]: 'a {"safety-up":5}' },
    },
  });
  expect(['a', 'b'].map((holder) => holderVersion(lease(holder), holder))).toEqual(['1.2.3', undefined]);
  expect(['a', 'b'].map((holder) => holderSettings(lease(holder)))).toEqual([{ 'safety-up': 5 }, undefined]);
});
