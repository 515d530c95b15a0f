import type { MachineDeployment } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { isComplete, isLastRolloutComplete } from '../../rollout/rollout-completion.ts';
import { deployment, minutes, NOW, set } from '../../set/test-objects.ts';
import { hasProgressed, pauseCondition, progressDeadline, withProgress } from './progress.ts';
import { type CountedSets, deploymentStatus, deploymentStatusDiffers } from './status.ts';

const counts = (replicas: number, available = replicas) => ({
  replicas,
  available,
  ready: available,
  fullyLabeled: replicas,
  preservedFailed: 0,
  autoPreserved: 0,
  failed: [],
});
const sets = (spec: number, replicas: number, available = replicas): CountedSets => ({
  current: { set: set('ms', spec), counts: counts(replicas, available) },
  old: [],
});
const progressing = (reason: string, status: 'True' | 'False' | 'Unknown', updatedAt: string) => ({
  type: 'Progressing' as const,
  status,
  reason,
  lastUpdateTime: updatedAt,
  lastTransitionTime: updatedAt,
});
const stored = (replicas: number, status: NonNullable<MachineDeployment['status']>, spec = {}) =>
  deployment(replicas, { status, ...spec });
const progressOf = (d: MachineDeployment, s: CountedSets, unavailable = 0) =>
  withProgress(d, s, deploymentStatus(d, s, unavailable, NOW), { now: NOW }).conditions.find(
    ({ type }) => type === 'Progressing',
  );

describe('rollouts that happen between two passes', () => {
  test('machines of another template that appeared between two passes are progress, not the end [9.4]', () => {
    const before = {
      replicas: 3,
      updatedReplicas: 0,
      availableReplicas: 3,
      conditions: [progressing('NewMachineSetAvailable', 'True', minutes(-60))],
    };
    expect(progressOf(stored(3, before), sets(3, 3, 0))).toMatchObject({ status: 'True', reason: 'MachineSetUpdated' });
    expect(progressOf(stored(3, before), sets(3, 3))).toMatchObject({
      status: 'True',
      reason: 'NewMachineSetAvailable',
      lastUpdateTime: minutes(-60),
    });
  });
});

describe('status', () => {
  test.each([
    ['Q-01 enough', 2, 'True'],
    ['Q-01 too few', 1, 'False'],
  ])('%s are available', (_title, available, want) => {
    const status = deploymentStatus(deployment(3), sets(3, 3, available), 1, NOW);
    expect(status.conditions.find(({ type }) => type === 'Available')?.status).toBe(want);
  });
  test.each([
    ['Q-03 more available machines than replicas', 4, 5, 0],
    ['Q-03 fewer', 5, 3, 2],
  ])('%s', (_title, spec, available, unavailable) => {
    expect(deploymentStatus(deployment(5), sets(spec, 5, available), 0, NOW).unavailableReplicas).toBe(unavailable);
  });
  test('a changed number of preserved failed machines is written [Q-10, BUG-11 corrected]', () => {
    expect(deploymentStatusDiffers({ preservedFailedReplicas: 0 }, { preservedFailedReplicas: 1 })).toBe(true);
  });
  test('an absent and an empty list of failed machines are equal, so nothing is written [ODD-13]', () => {
    expect(deploymentStatusDiffers({ replicas: 1 }, { replicas: 1, failedMachines: [], unavailableReplicas: 0 })).toBe(
      false,
    );
  });
  test('a changed description of a failure is written [Q-12]', () => {
    const failed = (description: string) => ({ failedMachines: [{ name: 'm', lastOperation: { description } }] });
    expect(deploymentStatusDiffers(failed('a'), failed('b'))).toBe(true);
  });
});

describe('progress', () => {
  test('progress changes the update time and keeps the transition time [Q-04]', () => {
    const d = stored(3, {
      updatedReplicas: 1,
      replicas: 1,
      conditions: [progressing('MachineSetUpdated', 'True', minutes(-5))],
    });
    expect(progressOf(d, sets(3, 2, 0))).toMatchObject({
      reason: 'MachineSetUpdated',
      lastUpdateTime: minutes(0),
      lastTransitionTime: minutes(-5),
    });
  });
  test('a rollout without progress until its deadline has timed out [Q-05]', () => {
    const status = {
      updatedReplicas: 1,
      replicas: 1,
      conditions: [progressing('MachineSetUpdated', 'True', minutes(-11))],
    };
    expect(progressOf(stored(3, status, { progressDeadlineSeconds: 600 }), sets(3, 1, 0))).toMatchObject({
      status: 'False',
      reason: 'ProgressDeadlineExceeded',
    });
    expect(progressOf(stored(3, status), sets(3, 1, 0))).toMatchObject({ status: 'True', reason: 'MachineSetUpdated' });
  });
  test('the next reconcile is at the deadline of the rollout [Q-06]', () => {
    const d = deployment(3, { progressDeadlineSeconds: 600 });
    expect(progressDeadline(d, [progressing('MachineSetUpdated', 'True', minutes(-3))])).toBe(NOW.getTime() + 420_000);
  });
  test('a completed rollout has no deadline and does not change [Q-08]', () => {
    const done = [progressing('NewMachineSetAvailable', 'True', minutes(-1440))];
    expect(progressDeadline(deployment(3, { progressDeadlineSeconds: 600 }), done)).toBeUndefined();
    const d = stored(3, { updatedReplicas: 3, replicas: 3, conditions: done }, { progressDeadlineSeconds: 600 });
    expect(progressOf(d, sets(3, 3, 1))).toEqual(done[0]);
  });
  test('a deployment of 0 without machines is complete [Q-13]', () => {
    expect(isComplete(deployment(0), { observedGeneration: 1 })).toBe(true);
    expect(isComplete(deployment(0), { observedGeneration: 0 })).toBe(false);
    expect(isComplete(deployment(0), { observedGeneration: 1, replicas: 1 })).toBe(false);
  });
  test('fewer outdated machines are progress', () => {
    expect(hasProgressed({ replicas: 4, updatedReplicas: 1 }, { replicas: 3, updatedReplicas: 1 })).toBe(true);
    expect(
      hasProgressed(
        { replicas: 3, updatedReplicas: 1, availableReplicas: 3 },
        { replicas: 4, updatedReplicas: 1, availableReplicas: 2 },
      ),
    ).toBe(false);
  });
  test('a rollout is complete only if the condition says so', () => {
    expect(
      isLastRolloutComplete(stored(1, { conditions: [progressing('NewMachineSetAvailable', 'True', minutes(-1))] })),
    ).toBe(true);
    expect(
      isLastRolloutComplete(stored(1, { conditions: [progressing('MachineSetUpdated', 'True', minutes(-1))] })),
    ).toBe(false);
    expect(isLastRolloutComplete(deployment(1))).toBe(false);
  });
  test('the first machine of a new set is progress even if the former set had more; the set alone is none', () => {
    const made = (name: string) => ({
      ...progressing('NewMachineSetCreated', 'True', minutes(-1)),
      message: `Created new MachineSet ${name}`,
    });
    const before = { updatedReplicas: 3, replicas: 3, readyReplicas: 3, availableReplicas: 3 };
    const reasonOf = (d: MachineDeployment, updated: number) => {
      const now = { ...before, updatedReplicas: updated, replicas: 4, conditions: [made('b')] };
      return withProgress(d, sets(3, updated), now, { now: NOW }).conditions.find(({ type }) => type === 'Progressing')
        ?.reason;
    };
    const former = stored(3, { ...before, conditions: [progressing('NewMachineSetAvailable', 'True', minutes(-60))] });
    expect(reasonOf(former, 1)).toBe('MachineSetUpdated');
    const reported = stored(3, { ...before, replicas: 4, updatedReplicas: 1, conditions: [made('b')] });
    expect(reasonOf(reported, 1)).toBe('NewMachineSetCreated');
  });
  test('a failure of the sets is copied as it is, and not written again while it is equal', () => {
    const failure = (reason: string, message: string) => ({
      type: 'ReplicaFailure' as const,
      status: 'True' as const,
      reason,
      message,
      lastTransitionTime: minutes(-2),
    });
    const failing = (reason: string, message: string): CountedSets => {
      const { current } = sets(1, 1);
      if (!current) throw new Error('no set');
      const machineSetCondition = [failure(reason, message)];
      return { current: { ...current, set: { ...current.set, status: { machineSetCondition } } }, old: [] };
    };
    const d = stored(1, { conditions: [failure('FailedCreate', 'the first') as never] });
    const reportOf = (s: CountedSets) =>
      withProgress(d, s, { conditions: [failure('FailedCreate', 'the first') as never] }, { now: NOW }).conditions.find(
        ({ type }) => (type as string) === 'ReplicaFailure',
      );
    expect(reportOf(failing('FailedCreate', 'the second'))).toMatchObject({
      reason: 'FailedCreate',
      message: 'the first',
    });
    expect(reportOf(failing('FailedDelete', 'the second'))).toMatchObject({
      reason: 'FailedDelete',
      message: 'the second',
    });
    expect(reportOf(sets(1, 1))).toBeUndefined();
  });
  test('a pause does not hide a missed deadline [R-21]', () => {
    const missed = { conditions: [progressing('ProgressDeadlineExceeded', 'False', minutes(-1))] };
    expect(pauseCondition(stored(1, missed, { paused: true }), NOW)).toBeUndefined();
    const going = { conditions: [progressing('MachineSetUpdated', 'True', minutes(-1))] };
    expect(pauseCondition(stored(1, going, { paused: true }), NOW)?.at(-1)).toMatchObject({
      status: 'Unknown',
      reason: 'DeploymentPaused',
    });
    expect(pauseCondition(stored(1, going), NOW)).toBeUndefined();
  });
});
