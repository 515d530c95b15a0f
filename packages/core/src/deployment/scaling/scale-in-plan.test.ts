import { Annotations, type Machine, type MachineSet } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { deployment, machine, minutes, NOW, set } from '../../set/test-objects.ts';
import { parseScaleIn, planScaleIn, type ScaleIn, scaleInResults } from './scale-in.ts';

const REQUEST: ScaleIn = { requestID: 'r1', machines: ['a'], from: 3, to: 2 };
const text = (change: object = {}): string => JSON.stringify({ ...REQUEST, ...change });

describe('the text of a request', () => {
  test.each<[what: string, change: object]>([
    ['of one machine', {}],
    ['that leaves no machine', { from: 1, to: 0 }],
    ['with the longest id', { requestID: 'x'.repeat(128) }],
  ])('%s is parsed', (_what, change) => {
    expect(parseScaleIn(text(change))).toEqual({ request: { ...REQUEST, ...change } });
  });

  const ID = 'the field "requestID" must be a string of 1 to 128 characters in a JSON object';
  const NAMES = 'the field "machines" must be a list of machine names';
  const COUNTS = 'the fields "from" and "to" must be integers of 0 or more';
  const ONCE = 'the field "machines" must contain at least one name and no duplicates';
  test.each<[written: string, requestID: string, problem: string]>([
    ['{', '', ID],
    ['null', '', ID],
    ['7', '', ID],
    [text({ requestID: undefined }), '', ID],
    [text({ requestID: 7 }), '', ID],
    [text({ requestID: ['r1'] }), '', ID],
    [text({ requestID: '' }), '', ID],
    [text({ requestID: 'x'.repeat(129) }), '', ID],
    [text({ machines: undefined }), 'r1', NAMES],
    [text({ machines: 'a' }), 'r1', NAMES],
    [text({ machines: ['a', 7] }), 'r1', NAMES],
    [text({ machines: ['a', ''], to: 1 }), 'r1', NAMES],
    [text({ from: undefined }), 'r1', COUNTS],
    [text({ from: '3' }), 'r1', COUNTS],
    [text({ from: 2.5, to: 1.5 }), 'r1', COUNTS],
    [text({ to: '2' }), 'r1', COUNTS],
    [text({ to: null }), 'r1', COUNTS],
    [text({ from: 0, to: -1 }), 'r1', COUNTS],
    [text({ machines: [], to: 3 }), 'r1', ONCE],
    [text({ machines: ['a', 'a'], to: 1 }), 'r1', ONCE],
    [text({ to: 1 }), 'r1', 'the field "to" must be "from" minus the number of machines (3 - 1), not 1'],
    [text({ to: 3 }), 'r1', 'the field "to" must be "from" minus the number of machines (3 - 1), not 3'],
  ])('%s results in a problem', (written, requestID, problem) => {
    expect(parseScaleIn(written)).toEqual({
      requestID,
      problem: `metadata.annotations[${Annotations.ScaleIn}]: ${problem}`,
    });
  });
});

const RESULT = { requestID: 'r0', outcome: 'Accepted', message: 'done' };

test.each<[written: string | undefined, read: readonly object[]]>([
  [undefined, []],
  ['{', []],
  ['7', []],
  [JSON.stringify(RESULT), []],
  [JSON.stringify([RESULT, 7, null, { requestID: '' }]), [RESULT]],
])('of the remembered outcomes %s, those with an id are read', (written, read) => {
  const annotations = written === undefined ? {} : { [Annotations.ScaleInResults]: written };
  expect(scaleInResults(deployment(2, { annotations }))).toEqual(read);
});

const running = (name: string, options: Parameters<typeof machine>[1] = {}): Machine =>
  machine(name, { phase: 'Running', ...options });
const current = (desired = '3', name = 'new'): MachineSet =>
  set(name, 3, { annotations: desired === '' ? {} : { [Annotations.DesiredReplicas]: desired } });
const former = (replicas: number): MachineSet => set('old', replicas, { className: 'former', age: 90 });

const unscaled = (one: MachineSet): MachineSet => {
  const { replicas: _, ...spec } = one.spec;
  return { ...one, spec };
};

interface Case {
  readonly written?: string | undefined;
  readonly annotations?: Record<string, string>;
  readonly replicas?: number | undefined;
  readonly sets?: readonly MachineSet[];
  readonly machines?: Readonly<Record<string, readonly Machine[]>>;
}

function plan({ written = text(), annotations = {}, sets = [current()], machines = {}, ...rest }: Case = {}) {
  const { replicas: _, ...spec } = deployment(0).spec;
  const replicas = 'replicas' in rest ? rest.replicas : 2;
  const pool = deployment(2, { annotations: { ...annotations, [Annotations.ScaleIn]: written } });
  const all: Case['machines'] = { new: [running('a'), running('b'), running('c')], ...machines };
  return planScaleIn({
    deployment: { ...pool, spec: { ...spec, ...(replicas === undefined ? {} : { replicas }) } },
    sets,
    machinesOf: ({ metadata }) => all[metadata.name] ?? [],
    now: NOW,
  });
}

const outcome = (annotations: Readonly<Record<string, string | null>> | undefined): unknown =>
  JSON.parse(annotations?.[Annotations.ScaleInResults] ?? 'null');

describe('an accepted request', () => {
  const message = 'Accepted scale-in r1 from 3 to 2: a';

  test('an accepted request is removed from the annotation, recorded, and added to the list of the scaler with its time', () => {
    expect(plan()).toEqual({
      annotations: {
        [Annotations.ScaleIn]: null,
        [Annotations.ScaleInResults]: JSON.stringify([{ requestID: 'r1', outcome: 'Accepted', message }]),
        [Annotations.TriggerDeletion]: `a~${minutes(0)}`,
        [Annotations.LastReplicaChangeByScaler]: minutes(0),
      },
      event: { type: 'Normal', reason: 'ScaleInAccepted', message },
    });
  });

  test('an accepted request is added to the existing names and outcomes, of which sixteen are kept', () => {
    const before = Array.from({ length: 16 }, (_, i) => ({ ...RESULT, requestID: `q${i}` }));
    const annotations = {
      [Annotations.TriggerDeletion]: `b~${minutes(-1)}`,
      [Annotations.ScaleInResults]: JSON.stringify(before),
    };
    const after = plan({ annotations })?.annotations;
    expect(after?.[Annotations.TriggerDeletion]).toBe(`b~${minutes(-1)},a~${minutes(0)}`);
    expect(outcome(after)).toEqual([{ requestID: 'r1', outcome: 'Accepted', message }, ...before.slice(0, 15)]);
  });

  test.each([
    ['of an earlier change rises', minutes(-1), minutes(0)],
    ['in the future stays', minutes(1), minutes(1)],
    ['that is invalid is replaced', 'soon', minutes(0)],
  ])('the scaler time %s', (_what, last, wanted) => {
    const annotations = { [Annotations.LastReplicaChangeByScaler]: last };
    expect(plan({ annotations })?.annotations[Annotations.LastReplicaChangeByScaler]).toBe(wanted);
  });

  test.each<[what: string, given: Case]>([
    ['before its set was ever scaled', { sets: [current('')] }],
    ['next to empty former sets', { sets: [former(0), current()] }],
    ['next to a former set without replicas', { sets: [unscaled(former(0)), current()] }],
    ['to no machine', { written: text({ from: 1, to: 0 }), sets: [current('1')], replicas: undefined }],
  ])('also %s', (_what, given) => {
    expect(plan(given)?.event?.reason).toBe('ScaleInAccepted');
  });
});

describe('a refused request', () => {
  test.each<[why: string, given: Case, replicas: number | undefined]>([
    [
      'spec.replicas is 1, but the field "to" of the request is 2: spec.replicas changed after the request',
      { replicas: 1 },
      undefined,
    ],
    [
      'spec.replicas is 0, but the field "to" of the request is 2: spec.replicas changed after the request',
      { replicas: undefined, sets: [current('')] },
      undefined,
    ],
    [
      'the field "from" of the request is 3, but spec.replicas was 4; read the deployment again',
      { sets: [current('4')] },
      4,
    ],
    [
      'the field "from" of the request is 3, but spec.replicas was 2; read the deployment again',
      { sets: [current('2')] },
      undefined,
    ],
    [
      'a rollout is in progress; try again when the condition Progressing has the reason NewMachineSetAvailable',
      { sets: [former(1), current()] },
      3,
    ],
    [
      'a rollout is in progress; try again when the condition Progressing has the reason NewMachineSetAvailable',
      { sets: [former(0), current()], machines: { old: [running('o', { deleting: true })] } },
      3,
    ],
    ['a is not a machine of this deployment', { machines: { new: [running('b')] } }, 3],
    ['a is not a machine of this deployment', { sets: [] }, undefined],
    ['a is already being deleted', { machines: { new: [running('a', { deleting: true })] } }, 3],
    ['a has failed and is being replaced', { machines: { new: [machine('a', { phase: 'Failed' })] } }, 3],
    ['a is preserved', { machines: { new: [running('a', { preservedUntil: 1 })] } }, 3],
  ])('%s: it is recorded, no machine is named, and the replicas are restored (%#)', (why, given, replicas) => {
    const message = `Refused scale-in r1: ${why}`;
    expect(plan(given)).toEqual({
      annotations: {
        [Annotations.ScaleIn]: null,
        [Annotations.ScaleInResults]: JSON.stringify([{ requestID: 'r1', outcome: 'Refused', message }]),
      },
      ...(replicas === undefined ? {} : { replicas }),
      event: { type: 'Warning', reason: 'ScaleInRefused', message },
    });
  });

  test('a refused request without an ID is not recorded', () => {
    expect(plan({ written: '{' })).toEqual({
      annotations: { [Annotations.ScaleIn]: null },
      replicas: 3,
      event: {
        type: 'Warning',
        reason: 'ScaleInRefused',
        message: expect.stringMatching(/^Refused scale-in: metadata/),
      },
    });
  });

  test('a refused request with an ID and another problem is recorded', () => {
    const refused = plan({ written: text({ machines: [] }) });
    expect(outcome(refused?.annotations)).toMatchObject([{ requestID: 'r1', outcome: 'Refused' }]);
    expect(refused?.replicas).toBe(3);
  });
});

test('a deployment without spec.replicas has none', () => {
  const none = { replicas: undefined, sets: [current('2')] };
  expect(plan({ ...none, written: text({ from: 1, to: 0 }) })).toMatchObject({
    replicas: 2,
    event: { type: 'Warning' },
  });
  expect(plan({ ...none, written: '{' })).toMatchObject({ replicas: 2, event: { type: 'Warning' } });
});

test('a repeated request is undone without an event, also if it was accepted', () => {
  const annotations = { [Annotations.ScaleInResults]: JSON.stringify([{ ...RESULT, requestID: 'r1' }]) };
  expect(plan({ annotations })).toEqual({
    annotations: { [Annotations.ScaleIn]: null },
    replicas: 3,
    event: undefined,
  });
});

test('without a request, a scale-in writes nothing', () => {
  expect(planScaleIn({ deployment: deployment(2), sets: [], machinesOf: () => [], now: NOW })).toBeUndefined();
});
