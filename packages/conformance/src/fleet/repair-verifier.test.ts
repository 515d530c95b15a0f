import type { Machine, MachinePhase } from '@mcm/api';
import { VirtualClock } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { type Allowance, RepairVerifier } from './repair-verifier.ts';

const clock = new VirtualClock();

const machine = (name: string, set: string, phase: MachinePhase, going = false): Machine =>
  partial<Machine>({
    metadata: {
      name,
      uid: name,
      creationTimestamp: clock.now().toISOString(),
      ownerReferences: [{ apiVersion: 'v1', kind: 'MachineSet', name: set, uid: set, controller: true }],
      ...(going ? { deletionTimestamp: clock.now().toISOString() } : {}),
    },
    spec: { class: {} },
    status: { currentStatus: { phase }, lastOperation: { type: 'HealthCheck', state: 'Failed' } },
  });

const allowance = (replicas: Readonly<Record<string, number>>, selected: readonly string[] = []): Allowance => ({
  replicasOf: (set) => replicas[set] ?? 0,
  replicas: [3],
  maxUnavailable: 1,
  selected: new Set(selected),
  byHand: false,
});

const replaces = (verifier: RepairVerifier, name: string, set: string, allowed: Allowance) =>
  verifier.changed(machine(name, set, 'Failed'), machine(name, set, 'Failed', true), allowed);

function stands(
  verifier: RepairVerifier,
  machines: readonly (readonly [name: string, set: string, phase: MachinePhase])[],
): void {
  for (const [name, set, phase] of machines) verifier.appeared(machine(name, set, phase));
}

test('replacements without a rollout run up to the limit, and during a rollout within the budget', () => {
  const idle = new RepairVerifier(clock, 2);
  stands(idle, [
    ['a', 'old', 'Failed'],
    ['b', 'old', 'Failed'],
    ['c', 'old', 'Running'],
  ]);
  expect(replaces(idle, 'a', 'old', allowance({ old: 3 }))).toBeUndefined();
  expect(replaces(idle, 'b', 'old', allowance({ old: 3 }))).toBeUndefined();
  const rolling = new RepairVerifier(clock, 2);
  stands(rolling, [
    ['a', 'old', 'Failed'],
    ['b', 'old', 'Failed'],
    ['c', 'new', 'Running'],
  ]);
  expect(replaces(rolling, 'a', 'old', allowance({ old: 2, new: 1 }))).toBeUndefined();
  expect(replaces(rolling, 'b', 'old', allowance({ old: 2, new: 1 }))).toMatch(/replaced a and b while/);
});

test('a deleted machine whose replacement belongs to another set no longer counts as a repair, in any order of events', () => {
  const verifier = new RepairVerifier(clock);
  stands(verifier, [
    ['a', 'old', 'Failed'],
    ['b', 'new', 'Failed'],
    ['c', 'old', 'Running'],
  ]);
  expect(replaces(verifier, 'a', 'old', allowance({ old: 2, new: 1 }))).toBeUndefined();
  verifier.gone(machine('a', 'old', 'Failed', true));
  expect(replaces(verifier, 'b', 'new', allowance({ old: 1, new: 2 }))).toBeUndefined();
});

test('a node that is still selected uses the budget until its update has ended', () => {
  const verifier = new RepairVerifier(clock);
  stands(verifier, [
    ['a', 'old', 'Failed'],
    ['b', 'old', 'InPlaceUpdating'],
    ['c', 'new', 'Running'],
  ]);
  const allowed = allowance({ old: 2, new: 1 }, ['b']);
  verifier.changed(machine('b', 'old', 'InPlaceUpdating'), machine('b', 'old', 'InPlaceUpdateSuccessful'), allowed);
  const early = replaces(verifier, 'a', 'old', allowed);
  expect(early).toMatch(/1 by in-place updates/);
  verifier.changed(machine('b', 'old', 'InPlaceUpdateSuccessful'), machine('b', 'old', 'Running'), allowed);
  expect(replaces(verifier, 'a', 'old', allowed)).toBeUndefined();
});

test('an in-place update uses the budget only if no machine of the surge replaces it', () => {
  const replacesWith = (replicas: number) => {
    const verifier = new RepairVerifier(clock);
    stands(verifier, [
      ['a', 'new', 'Failed'],
      ['b', 'new', 'Failed'],
      ['c', 'old', 'InPlaceUpdating'],
    ]);
    return replaces(verifier, 'a', 'new', { ...allowance({ new: 2, old: 1 }, ['c']), replicas: [replicas] });
  };
  expect(replacesWith(2)).toBeUndefined();
  expect(replacesWith(3)).toMatch(/1 machine unavailable \(1 by in-place updates\)/);
});

test('a set that is scaled in while its machines are created does not make room for another set', () => {
  const scaled = new RepairVerifier(clock);
  const born = ['a', 'b', 'c', 'd', 'e'].map((name) => [name, 'old', 'Pending'] as const);
  stands(scaled, born);
  for (const [name, set, phase] of born.slice(0, 2))
    expect(scaled.changed(machine(name, set, phase), machine(name, set, phase, true), allowance({ old: 3 }))).toBe(
      undefined,
    );
});

test('a machine that is deleted while the controller may still use a smaller size does not make room for another one', () => {
  const goes = (wishes: readonly number[]): readonly (string | undefined)[] => {
    const verifier = new RepairVerifier(clock);
    stands(verifier, [
      ['a', 'old', 'Running'],
      ['b', 'old', 'Running'],
      ['c', 'old', 'Running'],
      ['d', 'new', 'Running'],
    ]);
    const going = (name: string, old: number, replicas: readonly number[]) =>
      verifier.changed(machine(name, 'old', 'Running'), machine(name, 'old', 'Running', true), {
        ...allowance({ old, new: 1 }),
        replicas,
      });
    return [going('a', 1, wishes), going('b', 0, [4])];
  };
  expect(goes([4])[1]).toMatch(/the rollout made 2 machines unavailable/);
  expect(goes([4, 3])).toEqual([undefined, undefined]);
});

test('after a scale-in, the deletion of a superfluous failed machine is no replacement', () => {
  const wishes = (replicas: readonly number[]) => {
    const verifier = new RepairVerifier(clock);
    stands(verifier, [
      ['a', 'old', 'Failed'],
      ['b', 'old', 'InPlaceUpdating'],
    ]);
    return replaces(verifier, 'a', 'old', { ...allowance({ old: 2 }, ['b']), replicas });
  };
  expect(wishes([2])).toMatch(/mcm replaced a while the rollout made 1 machine unavailable/);
  expect(wishes([2, 0])).toBeUndefined();
});

test('the deletion of machines that have not joined makes room for another set without a limit', () => {
  const deletes = (phase: MachinePhase) => {
    const verifier = new RepairVerifier(clock);
    stands(verifier, [
      ['a', 'old', phase],
      ['b', 'old', phase],
      ['c', 'new', 'Running'],
    ]);
    const allowed = allowance({ old: 0, new: 3 });
    return ['a', 'b'].map((name) =>
      verifier.changed(machine(name, 'old', phase), machine(name, 'old', phase, true), allowed),
    );
  };
  expect(deletes('Pending')).toEqual([undefined, undefined]);
  expect(deletes('Running')).toEqual([
    undefined,
    expect.stringMatching(/the rollout made 2 machines unavailable, more than the limit of 1/),
  ]);
});

test('a surplus machine that the controllers may consider as Failed makes no machine unavailable', () => {
  const deletes = (isIdleSurplus: boolean) => {
    const verifier = new RepairVerifier(clock);
    stands(verifier, [
      ['a', 'now', 'Failed'],
      ['b', 'now', 'InPlaceUpdating'],
      ['c', 'old', 'Running'],
    ]);
    const allowed = { ...allowance({ now: 2 }), replicas: [2] };
    expect(replaces(verifier, 'a', 'now', allowed)).toBeUndefined();
    const going = [machine('c', 'old', 'Running'), machine('c', 'old', 'Running', true)] as const;
    return verifier.changed(...going, { ...allowed, isIdleSurplus });
  };
  expect(deletes(true)).toBeUndefined();
  expect(deletes(false)).toMatch(/mcm replaced a while the rollout made 1 machine unavailable/);
});

test('an unreachable machine of an old set may be deleted while new machines join, if enough machines remain', () => {
  const deletes = (phase: MachinePhase, replicas: number) => {
    const verifier = new RepairVerifier(clock);
    stands(verifier, [
      ['a', 'old', 'Running'],
      ['b', 'old', phase],
      ['c', 'old', 'Running'],
      ['d', 'new', 'Pending'],
    ]);
    const shrinks = { ...allowance({ old: 1, new: 1 }), replicas: [replicas] };
    verifier.changed(machine('a', 'old', 'Running'), machine('a', 'old', 'Running', true), shrinks);
    return verifier.changed(machine('b', 'old', phase), machine('b', 'old', phase, true), shrinks);
  };
  expect(deletes('Unknown', 3)).toBeUndefined();
  expect(deletes('Unknown', 4)).toMatch(/the rollout made 2 machines unavailable/);
  expect(deletes('Running', 3)).toMatch(/the rollout made 2 machines unavailable/);
});
