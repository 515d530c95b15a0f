import { Annotations, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { validateDeployment } from '../deployment/validation.ts';
import { machine } from '../machine/testing.ts';
import { deployment, set } from '../set/test-objects.ts';
import {
  closedGate,
  failuresOf,
  type GateInput,
  gateOf,
  hasRolloutSettings,
  isNoted,
  isReturn,
  keptFailures,
  NO_ROLLOUT_SETTINGS,
  pauseOn,
  rolloutSettingsOf,
  rolloutSettingViolations,
} from './rollout-gate.ts';

const NOW = new Date('2026-01-01T12:00:00Z');
const MINUTE = 60_000;

const annotated = (annotations: Record<string, string>, replicas = 10) => {
  const object = deployment(replicas);
  return { ...object, metadata: { ...object.metadata, annotations } };
};

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
  ])('the annotation canary %s is converted to a number of ten machines', (canary, wanted) => {
    const object = annotated({ [Annotations.RolloutCanary]: canary });
    expect([rolloutSettingViolations(object), rolloutSettingsOf(object).canary]).toEqual([[], wanted]);
  });

  test('a deployment without annotations has no careful rollout', () => {
    expect(rolloutSettingsOf(annotated({}))).toEqual({
      canary: 0,
      soakMs: 0,
      pauseMs: 0,
      pauseOnFailure: false,
      undoOnFailure: false,
    });
  });

  test('durations and the pause on failure are read; what is invalid is off', () => {
    const all = {
      [Annotations.RolloutCanary]: '1',
      [Annotations.RolloutCanarySoak]: '5m',
      [Annotations.RolloutBatchPause]: '0s',
      [Annotations.RolloutPauseOnFailure]: 'true',
    };
    expect(rolloutSettingViolations(annotated(all))).toEqual([]);
    expect(rolloutSettingsOf(annotated(all))).toEqual({
      canary: 1,
      soakMs: 5 * MINUTE,
      pauseMs: 0,
      pauseOnFailure: true,
      undoOnFailure: false,
    });
    const invalid = { [Annotations.RolloutCanary]: 'one', [Annotations.RolloutBatchPause]: 'soon' };
    expect(rolloutSettingsOf(annotated(invalid))).toEqual(NO_ROLLOUT_SETTINGS);
    const { replicas: _, ...spec } = annotated({}).spec;
    expect(rolloutSettingsOf({ ...annotated({ [Annotations.RolloutCanary]: '1' }), spec })).toEqual(
      NO_ROLLOUT_SETTINGS,
    );
  });

  test.each([
    [{ canary: 1 }, true],
    [{ pauseMs: 1 }, true],
    [{ pauseOnFailure: true }, true],
    [{ undoOnFailure: true }, true],
    [{ soakMs: 1 }, false],
    [{}, false],
  ])('%j makes a careful rollout: %s', (rolloutSettings, is) => {
    expect(hasRolloutSettings({ ...NO_ROLLOUT_SETTINGS, ...rolloutSettings })).toBe(is);
  });

  test.each([
    [Annotations.RolloutCanary, '0', 'must be a number of machines of at least 1, or a percentage from "1%" to "100%"'],
    [Annotations.RolloutBatchPause, '-5m', 'must be a duration of 0 or more, such as "10m"'],
    [Annotations.RolloutCanarySoak, '5m', `requires ${Annotations.RolloutCanary}`],
    [Annotations.CountTerminating, 'yes', 'must be "true" or "false"'],
  ])('%s: %j is refused with a sentence', (key, value, message) => {
    expect(rolloutSettingViolations(annotated({ [key]: value }))).toEqual([
      { field: `metadata.annotations[${key}]`, message },
    ]);
  });

  test('with more canaries than machines, all machines are canaries', () => {
    expect(rolloutSettingViolations(annotated({ [Annotations.RolloutCanary]: '150' }))).toEqual([]);
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
    [Annotations.RolloutUndoOnFailure, 'yes'],
    [Annotations.RolloutOnCannotUpdateInPlace, 'stop'],
  ])('%s: %j is refused with the name of the annotation', (key, value) => {
    expect(validateDeployment(annotated({ [key]: value })).map(({ field }) => field)).toEqual([
      `metadata.annotations[${key}]`,
    ]);
  });
});

describe('gate', () => {
  const rolloutSettings = { canary: 2, soakMs: 10 * MINUTE, pauseMs: 0, pauseOnFailure: false, undoOnFailure: false };

  test('the gate allows exactly the creation of the canaries', () => {
    expect(gateOf(rolloutSettings, 0, [], NOW)?.ceiling).toBe(2);
    expect(gateOf(rolloutSettings, 1, running(50), NOW)?.ceiling).toBe(2);
  });

  test('the gate opens when all canaries have been available long enough', () => {
    expect(gateOf(rolloutSettings, 2, running(50), NOW)).toMatchObject({ ceiling: 2, opensAt: undefined });
    expect(gateOf(rolloutSettings, 2, running(50, 4), NOW)).toMatchObject({
      ceiling: 2,
      opensAt: new Date(NOW.getTime() + 6 * MINUTE),
    });
    expect(gateOf(rolloutSettings, 2, running(50, 10), NOW)).toBeUndefined();
  });

  test('the reasons of a closed gate name the conditions that it waits for', () => {
    const reason = (...[replicas, machines]: [number, Machine[]]) =>
      gateOf(rolloutSettings, replicas, machines, NOW)?.because;
    expect(reason(1, running(50))).toBe('updating the canaries first');
    expect(reason(2, running(50))).toBe('waiting: 1 of 2 canaries are available');
    expect(reason(2, running(4, 50))).toBe('waiting: mcm observes canaries for 6m0s more');
    const soonOver = gateOf(rolloutSettings, 2, running(50, 4), new Date(NOW.getTime() + 6 * MINUTE - 100))?.because;
    expect(soonOver).toBe('waiting: mcm observes canaries for 1s more');
    const failed = ['f1', 'f2', 'f3', 'f4', 'f5'].map((name) => inPhase('Failed', 1, name));
    const going = { ...inPhase('CrashLoopBackOff', 1, 'g') };
    const terminating = { ...going, metadata: { ...going.metadata, deletionTimestamp: NOW.toISOString() } };
    const unborn = machine({ name: 'u' });
    const some = [inPhase('Pending', 1, 'p'), terminating, unborn];
    expect(reason(2, [...some, ...failed])).toBe('waiting: 0 of 2 canaries are available; f1, f2, f3, f4, f5 failed');
    expect(reason(2, [...some, ...failed, inPhase('Failed', 1, 'f6')])).toBe(
      'waiting: 0 of 2 canaries are available; f1, f2, f3, f4, f5 and 1 more failed',
    );
  });

  test('a machine without a time of its status counts from its creation', () => {
    const one = (createdAt: string): Machine =>
      machine({ metadata: { creationTimestamp: createdAt }, status: { currentStatus: { phase: 'Running' } } });
    const canary = { ...rolloutSettings, canary: 1 };
    expect(gateOf(canary, 1, [one('2026-01-01T11:50:00Z')], NOW)).toBeUndefined();
    expect(gateOf(canary, 1, [one('2026-01-01T11:51:00Z')], NOW)?.opensAt).toEqual(new Date('2026-01-01T12:01:00Z'));
  });

  test('canaries that are observed long enough still pause each batch', () => {
    const both = { ...rolloutSettings, pauseMs: 120 * MINUTE };
    expect(gateOf(both, 2, running(15, 15), NOW)?.because).toBe(
      'waiting: mcm observes machines of the new template for 1h45m0s more',
    );
    expect(gateOf({ ...rolloutSettings, canary: 0 }, 2, running(1), NOW)).toBeUndefined();
    expect(gateOf({ ...rolloutSettings, canary: 0, pauseMs: 1 }, 1, [], NOW)?.ceiling).toBe(1);
  });

  test('an unhealthy canary delays the machines that have not begun', () => {
    const machines = [...running(50), inPhase('Unknown', 1)];
    expect(gateOf(rolloutSettings, 5, machines, NOW)).toMatchObject({ ceiling: 5, opensAt: undefined });
  });

  test('between batches all new machines must have been available for the pause', () => {
    const paused = { ...rolloutSettings, canary: 0, pauseMs: 5 * MINUTE };
    expect(gateOf(paused, 0, [], NOW)).toBeUndefined();
    expect(gateOf(paused, 3, running(9, 9), NOW)).toMatchObject({ ceiling: 3, opensAt: undefined });
    expect(gateOf(paused, 3, running(9, 9, 1), NOW)?.opensAt).toEqual(new Date(NOW.getTime() + 4 * MINUTE));
    expect(gateOf(paused, 3, running(9, 9, 5), NOW)).toBeUndefined();
  });
});

describe('the gate of a deployment', () => {
  const rolloutSettings = { ...NO_ROLLOUT_SETTINGS, canary: 2, soakMs: 10 * MINUTE };
  const current = set('new', 2);
  const old = [set('old', 3), set('older', 0)];
  const soaking = running(50, 4);
  const OPENS = new Date(NOW.getTime() + 6 * MINUTE);
  const pool = (annotations: Record<string, string> = {}, spec: Partial<MachineDeployment['spec']> = {}) => {
    const object = annotated(annotations);
    return { ...object, spec: { ...object.spec, ...spec } };
  };
  const gate = (change: Partial<GateInput> = {}) =>
    closedGate({
      deployment: pool(),
      rolloutSettings,
      current,
      machines: soaking,
      old,
      rolling: true,
      now: NOW,
      ...change,
    });
  const NOTE = { [Annotations.RolloutPausedBy]: 'new-a~uid-a,new-b~uid-b' };
  const LAST_GOOD = (name: string) => ({ [Annotations.RolloutLastGood]: name });

  test('the gate of a deployment is closed while the canaries are observed', () => {
    expect(gate()).toMatchObject({ ceiling: 2, opensAt: OPENS });
    const grown = set('new', 3);
    expect(
      gate({ current: grown, rolloutSettings: { ...rolloutSettings, canary: 1, soakMs: 60 * MINUTE } })?.ceiling,
    ).toBe(3);
  });

  test.each<[what: string, change: Partial<GateInput>]>([
    ['a rollout without annotations', { rolloutSettings: NO_ROLLOUT_SETTINGS }],
    [
      'a paused rollout without annotations',
      { rolloutSettings: NO_ROLLOUT_SETTINGS, deployment: pool(NOTE, { paused: true }) },
    ],
    ['Recreate', { deployment: pool({}, { strategy: { type: 'Recreate' } }) }],
    ['a return to the last good template', { deployment: pool(LAST_GOOD('new')) }],
    ['a return that a failure had paused', { deployment: pool({ ...LAST_GOOD('new'), ...NOTE }, { paused: true }) }],
    ['the creation of a deployment', { old: [], rolling: false }],
    ['the end of a rollout', { rolling: false, deployment: pool(LAST_GOOD('gone')) }],
    ['canaries that are proven', { machines: running(50, 10) }],
    [
      'proven canaries, also during a pause of the user',
      { machines: running(50, 10), deployment: pool({}, { paused: true }) },
    ],
  ])('a closed gate does not delay %s', (_what, change) => {
    expect(gate(change)).toBeUndefined();
  });

  test.each<[what: string, change: Partial<GateInput>, ceiling: number]>([
    ['without a set of the template', { current: undefined, machines: [] }, 2],
    [
      'without old machines, until all machines have the template',
      { rolling: false, deployment: pool(LAST_GOOD('old')) },
      2,
    ],
    ['during a pause, at the size of the set', { deployment: pool({}, { paused: true }), current: set('new', 1) }, 1],
    ['during a pause without a set', { deployment: pool({}, { paused: true }), current: undefined, machines: [] }, 0],
  ])('is closed %s', (_what, change, ceiling) => {
    expect(gate(change)?.ceiling).toBe(ceiling);
  });

  test('the gate stays closed after a failure until the user resumes the rollout', () => {
    const paused = { deployment: pool(NOTE, { paused: true }), machines: running(50, 50), old: [set('old', 0)] };
    const closed = {
      ceiling: 2,
      opensAt: undefined,
      because: 'waiting: new-a, new-b failed with the new template',
    };
    expect(gate({ ...paused, rolling: false })).toEqual(closed);
    expect(gate({ ...paused, current: undefined })).toEqual({ ...closed, ceiling: 0 });
    expect(gate({ ...paused, old: [], rolling: false })).toBeUndefined();
  });

  test('the gate opens in time also during a pause of the user, and after a pause that was ended', () => {
    expect(gate({ deployment: pool({}, { paused: true }) })).toMatchObject({ ceiling: 2, opensAt: OPENS });
    expect(gate({ deployment: pool(NOTE) })).toMatchObject({ ceiling: 2, opensAt: OPENS });
    const object = pool();
    const { annotations: _, ...metadata } = object.metadata;
    expect(gate({ deployment: { ...object, metadata } })).toMatchObject({ ceiling: 2, opensAt: OPENS });
  });

  test('the gate keeps failed machines during a pause, until it opens', () => {
    const closed = gate();
    expect(keptFailures(pool({}, { paused: true }), closed)).toEqual({ keeps: { until: OPENS } });
    expect(keptFailures(pool(), closed)).toEqual({});
    expect(keptFailures(pool({}, { paused: true }), undefined)).toEqual({});
  });

  test.each<[named: string | undefined, of: MachineSet | undefined, is: boolean]>([
    ['new', current, true],
    ['old', current, false],
    [undefined, current, false],
    [undefined, undefined, false],
  ])('with the last good set %s, a rollout to the current set is a return: %#', (named, of, is) => {
    expect(isReturn(pool(named === undefined ? {} : LAST_GOOD(named)), of)).toBe(is);
  });

  test('a note names machines of the set that failed', () => {
    expect(isNoted(pool({ [Annotations.RolloutPausedBy]: 'other-a~u,new-b~u' }), 'new')).toBe(true);
    expect(isNoted(pool({ [Annotations.RolloutPausedBy]: 'newest-a~u' }), 'new')).toBe(false);
    expect(isNoted(pool(), 'new')).toBe(false);
  });
});

describe('automatic pause', () => {
  test('failed updates of machines that are being deleted do not count, nor machines without a phase', () => {
    const going = inPhase('InPlaceUpdateFailed', 1);
    const old = [{ ...going, metadata: { ...going.metadata, deletionTimestamp: NOW.toISOString() } }];
    expect(failuresOf([machine()], old)).toEqual([]);
  });

  test('the note is sorted, and the message names at most five new failures', () => {
    const failed = ['f', 'e', 'd', 'c', 'b', 'a'].map((name) => inPhase('Failed', 1, name));
    const pause = pauseOn(annotated({}), failed);
    expect(pause?.note).toBe('a~uid-a,b~uid-b,c~uid-c,d~uid-d,e~uid-e,f~uid-f');
    expect(pause?.message).toMatch(/because a, b, c, d, e failed with/);
    const noted = annotated({ [Annotations.RolloutPausedBy]: 'a~uid-a,b~uid-b' });
    expect(pauseOn(noted, failed.slice(3))?.message).toMatch(/because c failed with/);
  });

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
