import type { Machine, MachinePhase } from '@mcm/api';
import { VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { FleetVerifier } from './fleet-verifier.ts';

const MINUTE = 60_000;

const machine = (name: string, isGoing = false): Machine =>
  partial<Machine>({
    metadata: {
      name,
      uid: name,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ownerReferences: [{ apiVersion: 'v1', kind: 'MachineSet', name: 'set', uid: 'set', controller: true }],
      ...(isGoing ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: { class: {} },
    status: { currentStatus: { phase: 'Running' } },
  });

/** Resolves with the violations of a scale-in from three machines to two. */
async function violationsOf(setSize: number): Promise<readonly string[]> {
  const clock = new VirtualClock();
  const violations: string[] = [];
  const reducedAt = clock.now().getTime() + MINUTE;
  const verifier = new FleetVerifier({
    clock,
    limit: 1,
    lagMs: () => 0,
    violate: (text) => violations.push(text),
    replicasOf: () => setSize,
    largestSince: () => setSize,
    reducedAt: () => (setSize < 3 ? reducedAt : undefined),
    totalOf: () => setSize,
  });
  verifier.wishes({ replicas: 3, maxSurge: 0, maxUnavailable: 0 });
  for (const name of ['a', 'b', 'c']) verifier.appeared(machine(name));
  await clock.advance(MINUTE);
  verifier.wishes({ replicas: 2, maxSurge: 0, maxUnavailable: 0 });
  await clock.advance(MINUTE);
  verifier.changed(machine('a'), machine('a', true), true);
  await clock.advance(10 * MINUTE);
  verifier.changed(machine('b'), machine('b', true), false);
  return violations;
}

test('a set that completes its scale-in after a user deleted another machine breaks no rule', async () => {
  expect(await violationsOf(1)).toEqual([]);
});

test('a set that deletes a machine without a scale-in, after a user deleted another one, is reported', async () => {
  expect(await violationsOf(3)).toEqual([
    expect.stringMatching(/^machine b was deleted while 1 other machines are available/),
  ]);
});

test('a set fills up to its size after a scale-in, and a set that grows beyond the request is reported', async () => {
  const violations: string[] = [];
  const sizes = { set: 2 };
  const verifier = new FleetVerifier({
    clock: new VirtualClock(),
    limit: 1,
    lagMs: () => 0,
    violate: (text) => violations.push(text),
    replicasOf: () => sizes.set,
    largestSince: () => sizes.set,
    reducedAt: () => undefined,
    totalOf: () => sizes.set,
  });
  verifier.wishes({ replicas: 0, maxSurge: 0, maxUnavailable: 0 });
  for (const name of ['a', 'b']) verifier.appeared(machine(name));
  expect(violations).toEqual([]);
  verifier.appeared(machine('c'));
  verifier.grows('set', 3);
  expect(violations).toEqual([
    '3 machines are not terminating, more than the limit of 0',
    'MachineSet set grew, so all sets have 3 machines, more than the limit of 0',
  ]);
});

test.each([
  ['large enough', 2, []],
  [
    'smaller than the present request',
    1,
    [expect.stringMatching(/^machine b was deleted while 0 other machines are available/)],
  ],
])('a set completes an earlier scale-in, and all sets together are %s', async (_, total, expected) => {
  const clock = new VirtualClock();
  const violations: string[] = [];
  const verifier = new FleetVerifier({
    clock,
    limit: 1,
    lagMs: () => 0,
    violate: (text) => violations.push(text),
    replicasOf: () => 0,
    largestSince: () => 0,
    reducedAt: () => MINUTE,
    totalOf: () => total,
  });
  verifier.wishes({ replicas: 1, maxSurge: 0, maxUnavailable: 0 });
  verifier.appeared(machine('b'));
  await clock.advance(MINUTE);
  verifier.wishes({ replicas: 0, maxSurge: 0, maxUnavailable: 0 });
  await clock.advance(MINUTE);
  verifier.wishes({ replicas: 2, maxSurge: 0, maxUnavailable: 0 });
  await clock.advance(MINUTE);
  verifier.changed(machine('b'), machine('b', true), false);
  expect(violations).toEqual(expected);
});

const machineOf = (name: string, set: string, phase: MachinePhase, isGoing = false): Machine =>
  partial<Machine>({
    ...machine(name, isGoing),
    metadata: {
      ...machine(name, isGoing).metadata,
      ownerReferences: [{ apiVersion: 'v1', kind: 'MachineSet', name: set, uid: set, controller: true }],
    },
    status: { currentStatus: { phase }, lastOperation: { type: 'HealthCheck', state: 'Failed' } },
  });

test.each([
  ['within the delay of its watch', 3_000, 2, []],
  ['long before', 60_000, 2, [expect.stringMatching(/^mcm replaced a while the rollout made 1 machine unavailable/)]],
  ['but a set may grow', 3_000, 1, [expect.stringMatching(/^mcm replaced a while the rollout made 1 machine/)]],
])('a surplus machine recovers before the manager reduces its set: %s', async (_, recoveredMs, total, expected) => {
  const clock = new VirtualClock();
  const violations: string[] = [];
  const sizes: Readonly<Record<string, number>> = { current: 2, old: 0 };
  const verifier = new FleetVerifier({
    clock,
    limit: 1,
    lagMs: () => 4_000,
    violate: (text) => violations.push(text),
    replicasOf: (set) => sizes[set] ?? 0,
    largestSince: () => 2,
    reducedAt: () => clock.now().getTime(),
    totalOf: () => total,
  });
  verifier.wishes({ replicas: 2, maxSurge: 1, maxUnavailable: 1 });
  verifier.appeared(machineOf('a', 'current', 'Running'));
  verifier.appeared(machineOf('b', 'current', 'InPlaceUpdating'));
  verifier.appeared(machineOf('c', 'old', 'Failed'));
  await clock.advance(MINUTE);
  verifier.changed(machineOf('c', 'old', 'Failed'), machineOf('c', 'old', 'Running'), false);
  await clock.advance(recoveredMs);
  verifier.changed(machineOf('a', 'current', 'Running'), machineOf('a', 'current', 'Failed'), false);
  verifier.changed(machineOf('a', 'current', 'Failed'), machineOf('a', 'current', 'Failed', true), false);
  verifier.changed(machineOf('c', 'old', 'Running'), machineOf('c', 'old', 'Running', true), false);
  expect(violations).toEqual(expected);
});
