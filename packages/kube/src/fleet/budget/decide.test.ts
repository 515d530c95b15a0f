import { expect, test } from 'vitest';
import { type BudgetInput, decideBudget, type LocalCluster } from './decide.ts';
import { limitOf, policyOf } from './policy.ts';
import { type Canary, type Claim, readRecord, recordText } from './record.ts';

const AT = '2026-01-01T00:00:00.000Z';
const NOW = 1_000_000;
const SOAK = 60_000;

const local = (name: string, changes: Partial<LocalCluster> = {}): LocalCluster => ({
  name,
  id: `${name}-run/1`,
  canary: false,
  known: true,
  wants: true,
  wantsSince: NOW - SOAK,
  settled: true,
  rollout: 'rolling',
  ...changes,
});

const claimOf = (id: string): Claim => ({ id, since: AT });

interface Given extends Partial<Omit<BudgetInput, 'record'>> {
  readonly claims?: Readonly<Record<string, string>>;
  readonly canaries?: Readonly<Record<string, Canary['state']>>;
}

const decide = ({ claims = {}, canaries = {}, ...given }: Given) =>
  decideBudget({
    record: {
      claims: new Map(Object.entries(claims).map(([name, id]) => [name, claimOf(id)])),
      canaries: new Map(Object.entries(canaries).map(([name, state]) => [name, { state, since: AT }])),
    },
    locals: [],
    limit: 1,
    exists: () => true,
    lapsed: () => false,
    isCanary: (name) => name.startsWith('canary'),
    anyCanary: false,
    soakMs: SOAK,
    quietSince: 0,
    nowMs: NOW,
    at: AT,
    ...given,
  });

const claimsOf = ({ record }: ReturnType<typeof decide>) =>
  Object.fromEntries([...record.claims].map(([name, { id }]) => [name, id]));
const stateOf = (given: Given) => decide(given).record.canaries.get('canary')?.state;

test('the claims of all replicas count, and the cluster that has waited longest comes first', () => {
  const locals = [local('a', { wantsSince: 2 }), local('b', { wantsSince: 1 })];
  const one = decide({ locals });
  expect(claimsOf(one)).toEqual({ b: 'b-run/1' });
  expect([...one.holds]).toEqual([['a', 'budget']]);
  const full = decide({ locals, claims: { other: 'other-run/1' } });
  expect(claimsOf(full)).toEqual({ other: 'other-run/1' });
  expect([...full.holds.values()]).toEqual(['budget', 'budget']);
  expect(claimsOf(decide({ locals, limit: 0 }))).toEqual({});
});

test('a claim ends with its cluster, with a lapsed Lease, or after the last disruption', () => {
  const claims = { a: 'a-run/1' };
  expect(claimsOf(decide({ claims, exists: () => false }))).toEqual({});
  expect(claimsOf(decide({ claims, lapsed: () => true }))).toEqual({});
  const idle = local('a', { wants: false, rollout: 'none' });
  expect(decide({ claims, locals: [idle] })).toMatchObject({ released: ['a'] });
  expect(claimsOf(decide({ claims, locals: [{ ...idle, settled: false }] }))).toEqual(claims);
});

test('the next run of a cluster takes over its claim, even above the limit', () => {
  const claims = { a: 'former-run/3' };
  expect(claimsOf(decide({ claims, limit: 0, locals: [local('a')] }))).toEqual({ a: 'a-run/1' });
  const fresh = local('a', { wants: false, known: false, rollout: 'none' });
  expect(claimsOf(decide({ claims, locals: [fresh] }))).toEqual(claims);
});

test('other clusters wait for the canary clusters and their soak time', () => {
  const locals = [local('a'), local('canary', { canary: true })];
  const given = { locals, anyCanary: true, limit: 2 };
  const first = decide(given);
  expect(claimsOf(first)).toEqual({ canary: 'canary-run/1' });
  expect([...first.holds]).toEqual([['a', 'canaries']]);
  for (const state of ['rolling', 'failed', 'undoing', 'undone'] as const)
    expect(decide({ ...given, locals: [local('a')], canaries: { canary: state } }).holds.get('a')).toBe('canaries');
  const done = { ...given, locals: [local('a')], canaries: { canary: 'done' as const } };
  expect(decide({ ...done, quietSince: NOW - SOAK + 1 })).toMatchObject({ lookAgainMs: NOW + 1 });
  expect(decide({ ...done, quietSince: NOW - SOAK + 1 }).holds.get('a')).toBe('soak');
  expect(claimsOf(decide({ ...done, quietSince: NOW - SOAK }))).toEqual({ a: 'a-run/1' });
  const late = { ...done, quietSince: 0, locals: [local('a', { wantsSince: NOW - 1 })] };
  expect(decide(late).holds.get('a')).toBe('soak');
});

test('an undone rollout of a canary cluster is no success, and the next rollout is', () => {
  const canary = (rollout: LocalCluster['rollout']) => ({ locals: [local('canary', { canary: true, rollout })] });
  const cases: [Canary['state'] | undefined, LocalCluster['rollout'], Canary['state'] | undefined][] = [
    [undefined, 'none', undefined],
    [undefined, 'rolling', 'rolling'],
    ['rolling', 'none', 'done'],
    ['rolling', 'failed', 'failed'],
    ['failed', 'rolling', 'rolling'],
    ['rolling', 'undoing', 'undoing'],
    ['undoing', 'rolling', 'undoing'],
    ['undoing', 'none', 'undone'],
    ['undone', 'none', 'undone'],
    ['undone', 'rolling', 'rolling'],
  ];
  for (const [before, rollout, after] of cases) {
    const canaries = before === undefined ? {} : { canary: before };
    expect(stateOf({ ...canary(rollout), canaries }), `${before} ${rollout}`).toBe(after);
  }
});

test('the rules come from the data of the ConfigMap', () => {
  expect(policyOf()).toEqual({ maxClusters: '2%', canaries: [], soakMs: 30 * 60_000 });
  expect(policyOf({ maxClusters: '3', canaries: 'a=b, c=', soak: '1h' })).toEqual({
    maxClusters: '3',
    canaries: [
      ['a', 'b'],
      ['c', ''],
    ],
    soakMs: 3_600_000,
  });
  for (const data of [
    { maxClusters: '-1' },
    { maxClusters: '101%' },
    { canaries: 'x' },
    { soak: 'long' },
    { max: '1' },
  ])
    expect(policyOf(data)).toEqual(expect.stringContaining(`data.${Object.keys(data)[0]}`));
  const limits = (maxClusters: string) => [1, 49, 50, 149, 1_000].map((count) => limitOf({ maxClusters }, count));
  expect(limits('2%')).toEqual([1, 1, 1, 2, 20]);
  expect(limits('0%')).toEqual([0, 0, 0, 0, 0]);
  expect(limits('3')).toEqual([3, 3, 3, 3, 3]);
});

test('a record is read back, and an invalid text is refused', () => {
  const record = decide({ locals: [local('b'), local('a')], limit: 2, canaries: { canary: 'done' } }).record;
  expect(readRecord(recordText(record))).toEqual(record);
  expect(Object.keys(JSON.parse(recordText(record)).claims)).toEqual(['a', 'b']);
  for (const text of ['', '{', '[]', '{"claims":{"a":1},"canaries":{}}', '{"claims":{}}'])
    expect(readRecord(text)).toBeUndefined();
});
