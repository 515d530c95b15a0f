import { expect, test } from 'vitest';
import { csiDriverStrategy } from './storage.ts';

const context = { now: new Date(0), subresource: '', userName: 'u', newUid: () => 'uid' };

test('the expiry of a CSI token with a repeated audience is not validated', () => {
  const tokenRequests = [
    { audience: 'a' },
    { audience: 'a', expirationSeconds: 1 },
    { audience: 'b', expirationSeconds: 1 },
  ];
  const driver = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: 'd' },
    spec: { fsGroupPolicy: 'File', tokenRequests },
  };
  const fields = csiDriverStrategy.validate?.(driver, context).map(({ field }) => field);
  expect(fields).toEqual(['spec.tokenRequests[1].audience', 'spec.tokenRequests[2].expirationSeconds']);
});
