import { Annotations, type Machine } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { validateDeployment } from '../deployment/validation.ts';
import { machine } from '../machine/testing.ts';
import { deployment } from '../set/test-objects.ts';
import { careOf, careViolations, failuresOf, gateOf, pauseOn } from './rollout-gate.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const MINUTE = 60_000;

const annotated = (annotations: Record<string, string>, replicas = 10) => {
  const object = deployment(replicas);
  return { ...object, metadata: { ...object.metadata, annotations } };
};

/** A machine that has been in a phase for `minutes`. */
const inPhase = (phase: string, minutes: number, name = 'm'): Machine =>
  machine({
    name,
    status: {
      currentStatus: {
        phase: phase as 'Running',
        lastUpdateTime: new Date(NOW.getTime() - minutes * MINUTE).toISOString(),
      },
    },
  });

const running = (...minutes: number[]) => minutes.map((each, i) => inPhase('Running', each, `m-${i}`));

describe('annotations of a careful rollout', () => {
  test.each([
    ['2', 2],
    ['25%', 3],
    ['100%', 10],
    ['50', 10],
  ])('canary %s of 10', (canary, wanted) => {
    const object = annotated({ [Annotations.RolloutCanary]: canary });
    expect([careViolations(object), careOf(object).canary]).toEqual([[], wanted]);
  });

  test('everything is off by default', () => {
    expect(careOf(annotated({}))).toEqual({ canary: 0, soakMs: 0, pauseMs: 0, pauseOnFailure: false });
  });

  test.each([
    [Annotations.RolloutCanary, '0'],
    [Annotations.RolloutCanary, '0%'],
    [Annotations.RolloutCanary, '101%'],
    [Annotations.RolloutCanary, '-1'],
    [Annotations.RolloutCanary, 'one'],
    [Annotations.RolloutCanary, ''],
    [Annotations.RolloutBatchPause, '10'],
    [Annotations.RolloutBatchPause, '-5m'],
    [Annotations.RolloutCanarySoak, '5m'],
    [Annotations.RolloutPauseOnFailure, 'yes'],
  ])('%s: %j is refused and named', (key, value) => {
    expect(validateDeployment(annotated({ [key]: value })).map(({ field }) => field)).toEqual([
      `metadata.annotations[${key}]`,
    ]);
  });
});

describe('gate', () => {
  const care = { canary: 2, soakMs: 10 * MINUTE, pauseMs: 0, pauseOnFailure: false };

  test('lets exactly the canaries be created', () => {
    expect(gateOf(care, 0, [], NOW)?.ceiling).toBe(2);
    expect(gateOf(care, 1, running(50), NOW)?.ceiling).toBe(2);
  });

  test('opens when all canaries have been available long enough', () => {
    expect(gateOf(care, 2, running(50), NOW)).toMatchObject({ ceiling: 2, opensAt: undefined });
    expect(gateOf(care, 2, running(50, 4), NOW)).toMatchObject({
      ceiling: 2,
      opensAt: new Date(NOW.getTime() + 6 * MINUTE),
    });
    expect(gateOf(care, 2, running(50, 10), NOW)).toBeUndefined();
  });

  test('an unhealthy canary delays the machines that have not begun', () => {
    const machines = [...running(50), inPhase('Unknown', 1)];
    expect(gateOf(care, 5, machines, NOW)).toMatchObject({ ceiling: 5, opensAt: undefined });
  });

  test('between batches all new machines must have been available for the pause', () => {
    const paused = { ...care, canary: 0, pauseMs: 5 * MINUTE };
    expect(gateOf(paused, 0, [], NOW)).toBeUndefined();
    expect(gateOf(paused, 3, running(9, 9), NOW)).toMatchObject({ ceiling: 3, opensAt: undefined });
    expect(gateOf(paused, 3, running(9, 9, 1), NOW)?.opensAt).toEqual(new Date(NOW.getTime() + 4 * MINUTE));
    expect(gateOf(paused, 3, running(9, 9, 5), NOW)).toBeUndefined();
  });
});

describe('automatic pause', () => {
  test('failed machines of the new template count, failed old ones only after an update', () => {
    const current = [inPhase('Running', 1, 'a'), inPhase('Failed', 1, 'b'), inPhase('CrashLoopBackOff', 1, 'c')];
    const old = [inPhase('Failed', 1, 'd'), inPhase('InPlaceUpdateFailed', 1, 'e')];
    expect(failuresOf(current, old).map(({ metadata }) => metadata.name)).toEqual(['b', 'c', 'e']);
  });

  test('a failure pauses once; another failure pauses again', () => {
    const [a, b] = [inPhase('Failed', 1, 'a'), inPhase('Failed', 1, 'b')];
    const first = pauseOn(annotated({}), [a]);
    expect([first?.note, first?.message]).toEqual(['a~uid-a', expect.stringContaining('a failed')]);
    const noted = annotated({ [Annotations.RolloutPausedBy]: first?.note ?? '' });
    expect(pauseOn(noted, [a])).toBeUndefined();
    expect(pauseOn(noted, [a, b])?.note).toBe('a~uid-a,b~uid-b');
    expect(pauseOn(noted, [])).toBeUndefined();
  });
});
