import { Annotations, Labels, type Machine } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { deployment, machine, minutes, NOW, set } from '../../set/test-objects.ts';
import { normaliseTriggers, planTriggers, unmetTriggers } from './trigger-deletion.ts';

const LIST = Annotations.TriggerDeletion;
const SCALER = Annotations.LastReplicaChangeByScaler;

const byName = (...machines: Machine[]) => new Map(machines.map((m) => [m.metadata.name, m]));
const running = (name: string, options: Parameters<typeof machine>[1] = {}) =>
  machine(name, { phase: 'Running', ...options });
const plan = (list: string | undefined, scaler: string | undefined, ...machines: Machine[]) => {
  const annotations = {
    ...(list === undefined ? {} : { [LIST]: list }),
    ...(scaler === undefined ? {} : { [SCALER]: scaler }),
  };
  return planTriggers(deployment(2, { annotations }), byName(...machines), NOW, (name) =>
    ['a', 'b', 'foreign'].includes(name),
  );
};
const T0 = minutes(-10);
const T1 = minutes(-5);

describe('step A: the list in its present form [9.2]', () => {
  test('without the annotation nothing changes', () => {
    expect(plan(undefined, undefined, running('a'))).toEqual({ annotations: {}, marks: [], refused: [] });
  });

  test('objects without annotations are accepted', () => {
    const given = deployment(2);
    const { annotations: _, ...metadata } = given.metadata;
    expect(planTriggers({ ...given, metadata }, new Map(), NOW)).toEqual({ annotations: {}, marks: [], refused: [] });
    const one = running('a');
    const { annotations: __, ...bare } = one.metadata;
    expect(plan(`a~${T0}`, T0, { ...one, metadata: bare }).marks).toHaveLength(1);
  });

  test('an entry without a time gets the current one, one with a time keeps it, and one with two is dropped', () => {
    expect(normaliseTriggers(`a,b~${T0},c~${T0}~x, ,d`, T1)).toEqual([
      { name: 'a', time: T1 },
      { name: 'b', time: T0 },
      { name: 'd', time: T1 },
    ]);
  });

  test('the new form is written together with the scaler’s time that it lacked', () => {
    expect(plan('a', undefined, running('a')).annotations).toEqual({ [LIST]: `a~${minutes(0)}`, [SCALER]: minutes(0) });
  });

  test.each([
    ['and the time of the last change rises with it', T0, minutes(0)],
    ['or the second after the last change, if this second is not over', minutes(0), '2026-01-01T12:00:01Z'],
    ['or the second after a last change in the future', minutes(5), '2026-01-01T12:05:01Z'],
    ['also if the time of the last change is invalid', 'yesterday', minutes(0)],
  ])('an entry without a time gets the current one, %s', (_title, scaler, time) => {
    const { annotations, marks } = plan(
      `a,b~${T0}`,
      scaler,
      running('a'),
      running('b', { priority: '1', marked: -10 }),
    );
    expect(annotations).toEqual({ [LIST]: `a~${time},b~${T0}`, [SCALER]: time });
    expect(marks.map((mark) => mark.annotations[Annotations.MarkedForDeletionTime])).toEqual([time]);
  });

  test('a dropped name changes no time', () => {
    expect(plan('gone', T0, running('a')).annotations).toEqual({ [LIST]: null });
    expect(plan('gone', undefined, running('a')).annotations).toEqual({ [LIST]: null });
  });

  test('a repeated name counts once', () => {
    expect(plan(`a~${T0},a`, T0, running('a', { priority: '1', marked: -10 }))).toEqual({
      annotations: { [LIST]: `a~${T0}` },
      marks: [],
      refused: [],
    });
  });

  test.each(['', ' '])('an empty list %j changes nothing', (list) => {
    expect(plan(list, undefined, running('a'))).toEqual({ annotations: {}, marks: [], refused: [] });
  });

  test('the scaler’s time is written also where the list is in its present form [ODD-8 fixed]', () => {
    expect(plan(`a~${T0}`, undefined, running('a')).annotations).toEqual({ [SCALER]: minutes(0) });
  });

  test('a list in its present form with the scaler’s time is not written again', () => {
    const marked = running('a', { priority: '1', marked: -10 });
    expect(plan(`a~${T0}`, T0, marked)).toEqual({ annotations: {}, marks: [], refused: [] });
  });
});

describe('step B: mark and prune [9.2]', () => {
  test.each<[title: string, list: string, left: string | null, machines: Machine[]]>([
    ['a deleted machine', `a~${T0},b~${T0}`, `b~${T0}`, [running('b')]],
    ['a failed one', `a~${T0},b~${T0}`, `b~${T0}`, [machine('a', { phase: 'Failed' }), running('b')]],
    ['a machine in phase Terminating', `a~${T0}`, null, [machine('a', { phase: 'Terminating' })]],
    ['a machine that is being deleted', `a~${T0}`, null, [running('a', { deleting: true })]],
    ['an invalid time', 'a~yesterday', null, [running('a')]],
    ['an entry with two times', `a~${T0}~${T0}`, null, [running('a')]],
    ['a machine of another deployment [ODD-14 fixed]', `foreign~${T0}`, null, [running('a')]],
    ['only commas', ',,', null, [running('a')]],
  ])('drops %s', (_title, list, left, machines) => {
    expect(plan(list, T0, ...machines).annotations).toEqual({ [LIST]: left });
  });

  test('the other entries keep their order', () => {
    const list = `c~${T1},x~${T0},a~${T0}`;
    expect(plan(list, T1, running('a'), running('c')).annotations[LIST]).toBe(`c~${T1},a~${T0}`);
  });

  test('a kept machine gets priority 1 and the entry’s time, one that is marked is not written', () => {
    const { marks } = plan(`a~${T0},b~${T0}`, T0, running('a'), running('b', { priority: '1', marked: -10 }));
    expect(marks.map((mark) => [mark.machine.metadata.name, mark.annotations])).toEqual([
      ['a', { [Annotations.Priority]: '1', [Annotations.MarkedForDeletionTime]: T0 }],
    ]);
  });

  test('an existing mark time stays', () => {
    const { marks } = plan(`a~${T0}`, T0, running('a', { marked: -20 }));
    expect(marks.map((mark) => mark.annotations)).toEqual([{ [Annotations.Priority]: '1' }]);
  });

  test.each<[title: string, options: Parameters<typeof machine>[1], mark: string | undefined]>([
    ['a machine without a mark', {}, minutes(0)],
    ['an old mark without its priority', { marked: -20 }, minutes(0)],
    ['a mark in the last second of the scale-down', { marked: -5 }, minutes(0)],
    ['a later mark', { marked: -1 }, undefined],
    ['a machine that is marked', { marked: -20, priority: '1' }, undefined],
  ])('a time that an earlier scale-down covers is not used: %s', (_title, options, mark) => {
    const given = deployment(2, { annotations: { [LIST]: `a~${T0}`, [SCALER]: T1 } });
    const { marks } = planTriggers(given, byName(running('a', options)), NOW, undefined, () => Date.parse(T1));
    expect(marks.map((one) => one.annotations[Annotations.MarkedForDeletionTime])[0]).toBe(mark);
  });

  test.each<[title: string, options: Parameters<typeof machine>[1], marks: object]>([
    ['priority 1 without a time gets the time', { priority: '1' }, { [Annotations.MarkedForDeletionTime]: T0 }],
    ['another priority with a time gets the priority', { priority: '3', marked: -20 }, { [Annotations.Priority]: '1' }],
  ])('%s', (_title, options, marks) => {
    expect(plan(`a~${T0}`, T0, running('a', options)).marks.map((mark) => mark.annotations)).toEqual([marks]);
  });

  test('a mark with an invalid time is kept, although a scale-down is complete', () => {
    const one = running('a');
    const annotations = { ...one.metadata.annotations, [Annotations.MarkedForDeletionTime]: 'soon' };
    const given = deployment(2, { annotations: { [LIST]: `a~${T0}`, [SCALER]: T1 } });
    const marked = byName({ ...one, metadata: { ...one.metadata, annotations } });
    const { marks } = planTriggers(given, marked, NOW, undefined, () => Date.parse(T1));
    expect(marks.map((mark) => mark.annotations)).toEqual([{ [Annotations.Priority]: '1' }]);
  });

  test('if the caller knows no other machines, an unknown name is dropped without a report', () => {
    const given = deployment(2, { annotations: { [LIST]: `foreign~${T0}`, [SCALER]: T0 } });
    expect(planTriggers(given, byName(running('a')), NOW).refused).toEqual([]);
  });

  test('invalid names and those of other deployments are reported, and those of deleted machines are not', () => {
    expect(plan(`a~soon, b~${T0}~x ,Not a name,foreign,gone,gone~soon`, T0, running('a')).refused).toEqual([
      `b~${T0}~x (must be name~time)`,
      'Not a name (must be name~time)',
      'a~soon (the time must be RFC 3339)',
      'foreign (not a machine of this deployment)',
    ]);
  });
});

describe('a mark that deletes no machine is reported', () => {
  const scaled = (replicas: number, scaler?: string) =>
    set('ms', replicas, scaler === undefined ? {} : { annotations: { [SCALER]: scaler } });

  test.each<[title: string, replicas: number, scaler: string | undefined, marked: number | undefined, why: RegExp]>([
    ['priority 1 without a time, without a scale-down', 2, undefined, undefined, /has no .*marked-for-deletion-time/],
    ['marked, without any scale-down', 2, undefined, -5, /was not reduced after the machine was marked/],
    ['marked after the last scale-down', 2, T0, -5, /was not reduced after the machine was marked/],
    ['marked without a scale-down of the set', 2, 'soon', -5, /was not reduced after the machine was marked/],
    ['fewer machines than replicas', 3, undefined, undefined, /the set has exactly its 3 desired machines/],
  ])('%s', (_title, replicas, scaler, marked, why) => {
    const named = running('a', { priority: '1', ...(marked === undefined ? {} : { marked }) });
    const unmet = unmetTriggers(scaled(replicas, scaler), [named, running('b')]);
    expect(unmet.map((entry) => entry.machine.metadata.name)).toEqual(['a']);
    expect(unmet[0]?.why).toMatch(why);
  });

  test.each<[title: string, replicas: number, scaler: string | undefined, named: Machine]>([
    [
      'a machine that a change by the scaler covers: it is deleted',
      2,
      T1,
      running('a', { priority: '1', marked: -10 }),
    ],
    ['a machine that was marked in the second of the change', 2, T1, running('a', { priority: '1', marked: -5 })],
    ['a machine of a set that will be scaled down: it is deleted', 1, undefined, running('a', { priority: '1' })],
    ['a machine that is already being deleted', 2, undefined, running('a', { priority: '1', deleting: true })],
    ['a failed machine', 2, undefined, machine('a', { phase: 'Failed', priority: '1' })],
    [
      'a machine whose update in place succeeded, which moves to the new set',
      2,
      undefined,
      running('a', { priority: '1', labels: { [Labels.UpdateResult]: 'successful' } }),
    ],
    ['priority 2', 2, undefined, running('a', { priority: '2' })],
    ['a priority that is not a number', 2, undefined, running('a', { priority: 'high' })],
  ])('but not %s', (_title, replicas, scaler, named) => {
    expect(unmetTriggers(scaled(replicas, scaler), [named, running('b')])).toEqual([]);
  });

  test('a machine that is being deleted is no replica, and a set without replicas keeps no machine', () => {
    const named = running('a', { priority: '1' });
    expect(unmetTriggers(scaled(2), [named, running('b'), running('c', { deleting: true })])).toHaveLength(1);
    const { replicas: _, ...spec } = scaled(2).spec;
    expect(unmetTriggers({ ...scaled(2), spec }, [named])).toEqual([]);
  });
});
