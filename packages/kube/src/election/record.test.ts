import { expect, test } from 'vitest';
import type { Lease } from '../types/groups.ts';
import { LeaseAnnotations } from '../types/lease-annotations.ts';
import { claim, holderSettings, holderVersion, microTime, readRecord, released, toSpec } from './record.ts';

test('a claim and a release have the fields of client-go', () => {
  const now = new Date(60_000);
  const time = microTime(now);
  const first = claim(undefined, 'a', 1_001_000, now);
  expect(toSpec(first)).toEqual({
    holderIdentity: 'a',
    leaseDurationSeconds: 1001,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: 0,
  });
  const later = new Date(120_000);
  expect(claim(first, 'a', 15_000, later)).toMatchObject({
    acquireTime: time,
    renewTime: microTime(later),
    transitions: 0,
  });
  const second = claim(first, 'b', 15_000, later);
  expect(second).toMatchObject({ holder: 'b', acquireTime: microTime(later), transitions: 1 });
  expect(claim(second, 'b', 15_000, later).transitions).toBe(1);
  expect(toSpec(released(second, now))).toEqual({
    holderIdentity: '',
    leaseDurationSeconds: 1,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: 1,
  });
});

test('a duration of a fraction of a second is rounded up', () => {
  expect(claim(undefined, 'a', 1500, new Date(0)).leaseDurationSeconds).toBe(2);
});

test('annotations of an earlier holder are ignored: candidates of client-go leave them in the lease', () => {
  const lease = (holderIdentity: string): Lease => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    spec: { holderIdentity },
    metadata: {
      name: 'lock',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: '',
      annotations: {
        [LeaseAnnotations.HolderVersion]: '1.2.3 a',
        [LeaseAnnotations.HolderSettings]: 'a {"safety-up":5}',
      },
    },
  });
  expect(['a', 'b'].map((holder) => holderVersion(lease(holder), holder))).toEqual(['1.2.3', undefined]);
  expect(['a', 'b'].map((holder) => holderSettings(lease(holder)))).toEqual([{ 'safety-up': 5 }, undefined]);
});

const leaseOf = (change: Partial<Lease> & { readonly annotations?: Record<string, string> }): Lease => {
  const { annotations, ...rest } = change;
  const metadata = { name: 'lock', uid: 'u', resourceVersion: '1', creationTimestamp: '' };
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    ...rest,
    metadata: { ...metadata, ...(annotations ? { annotations } : {}) },
  };
};

test('a lease without a spec has no holder, and the fields of a spec are read', () => {
  const nothing = { holder: '', leaseDurationSeconds: 0, acquireTime: '', renewTime: '', transitions: 0 };
  expect(readRecord(leaseOf({}))).toEqual(nothing);
  expect(readRecord(leaseOf({ spec: {} }))).toEqual(nothing);
  const spec = {
    holderIdentity: 'a',
    leaseDurationSeconds: 5,
    acquireTime: 'then',
    renewTime: 'now',
    leaseTransitions: 3,
  };
  expect(readRecord(leaseOf({ spec }))).toEqual({
    holder: 'a',
    leaseDurationSeconds: 5,
    acquireTime: 'then',
    renewTime: 'now',
    transitions: 3,
  });
});

test('a holder keeps the time at which it took the lease, and adds a missing one', () => {
  const now = new Date(60_000);
  const mine = (acquireTime: string) => claim({ ...readRecord(leaseOf({})), holder: 'a', acquireTime }, 'a', 1, now);
  expect(mine('then').acquireTime).toBe('then');
  expect(mine('').acquireTime).toBe(microTime(now));
});

test('a lease without annotations has no information about its holder', () => {
  expect(holderVersion(undefined, 'a')).toBeUndefined();
  expect(holderVersion(leaseOf({}), 'a')).toBeUndefined();
  expect(holderSettings(leaseOf({ spec: { holderIdentity: 'a' } }))).toBeUndefined();
});

test.each(['a {', 'a 5', 'a null', 'a "text"', 'a', ' {}'])(
  'an invalid annotation has no information about the flags of a holder: %j',
  (text) => {
    const holderIdentity = text.startsWith(' ') ? '' : 'a';
    const annotations = { [LeaseAnnotations.HolderSettings]: text };
    expect(holderSettings(leaseOf({ spec: { holderIdentity }, annotations }))).toBeUndefined();
    expect(holderSettings(leaseOf({ annotations }))).toBeUndefined();
  },
);
