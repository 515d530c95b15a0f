import { Annotations, type Machine } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { deployment, machine, minutes, NOW, set } from '../../set/test-objects.ts';
import { isTakenBack, isUndone, newlySeen, type ScalerTimeInput, scalerTimes } from './scaler-time.ts';

const SCALER = Annotations.LastReplicaChangeByScaler;
const LIST = Annotations.TriggerDeletion;

const marked = (name: string, at: number, options: Parameters<typeof machine>[1] = {}) =>
  machine(name, { phase: 'Running', priority: '1', marked: at, ...options });
const list = (machines: readonly Machine[]) =>
  machines
    .map(({ metadata }) => `${metadata.name}~${metadata.annotations?.[Annotations.MarkedForDeletionTime] ?? ''}`)
    .join(',');

interface Given {
  readonly replicas?: number;
  readonly before?: number;
  readonly scaler?: number | undefined;
  readonly set?: number;
  readonly machines?: readonly Machine[];
  readonly named?: string;
  readonly undone?: boolean;
}

function inputOf(given: Given): ScalerTimeInput {
  const { replicas = 5, before = 5, scaler, machines = [], undone = false } = given;
  return {
    deployment: deployment(replicas, {
      annotations: {
        ...(scaler === undefined ? {} : { [SCALER]: minutes(scaler) }),
        [LIST]: given.named ?? list(machines),
      },
    }),
    set: set('ms', before, {
      annotations: {
        [Annotations.DesiredReplicas]: String(before),
        ...(given.set === undefined ? {} : { [SCALER]: minutes(given.set) }),
      },
    }),
    machines,
    undone,
    now: NOW,
  };
}

const times = (given: Given) => scalerTimes(inputOf(given));

function seen(name: string, at: number, seenAt = at): Machine {
  const one = marked(name, at);
  const annotations = { ...one.metadata.annotations, [Annotations.ScaleInSeen]: minutes(seenAt) };
  return { ...one, metadata: { ...one.metadata, annotations } };
}

describe('the time of the last change on a set', () => {
  test.each<[title: string, given: Given, always: number | undefined, withFall: number | undefined]>([
    ['no name is open: the time of the deployment', { scaler: -5, set: -9 }, -5, -5],
    ['no name is open, and the set already has the time', { scaler: -5, set: -5 }, undefined, undefined],
    ['the time never decreases', { scaler: -9, set: -5 }, undefined, undefined],
    ['the deployment has no time', { set: -5 }, undefined, undefined],
    [
      'a name is open, and the replicas stay the same',
      { scaler: -1, set: -9, machines: [marked('a', -1)] },
      undefined,
      undefined,
    ],
    ['the replicas are reduced', { replicas: 4, scaler: -1, set: -9, machines: [marked('a', -1)] }, undefined, -1],
    ['the first scale-down', { replicas: 4, scaler: -1, machines: [marked('a', -1)] }, undefined, -1],
    [
      'the scaler wrote no time: the time of the name is used',
      { replicas: 4, scaler: -9, set: -9, machines: [marked('a', -1)] },
      undefined,
      -1,
    ],
    [
      'a name with a future time is not awaited',
      { replicas: 4, scaler: -3, set: -9, machines: [marked('a', 60)] },
      undefined,
      -3,
    ],
    [
      'the scale-down is smaller than the number of names: the earlier ones are covered',
      { replicas: 4, scaler: -1, set: -9, machines: [marked('a', -2), marked('b', -1)] },
      undefined,
      -2,
    ],
    [
      'more names with one time than the scale-down: none is covered',
      { replicas: 4, scaler: -1, set: -9, machines: [marked('a', -1), marked('b', -1)] },
      undefined,
      undefined,
    ],
    [
      'names that an earlier scale-down covers do not count',
      { replicas: 4, scaler: -1, set: -5, machines: [marked('a', -6), marked('b', -1)] },
      undefined,
      -1,
    ],
    [
      'machines that are being deleted or have failed do not count',
      {
        replicas: 4,
        scaler: -1,
        set: -9,
        machines: [marked('a', -2, { deleting: true }), marked('b', -2, { phase: 'Failed' }), marked('c', -1)],
      },
      undefined,
      -1,
    ],
    [
      'a mark that is not on the list does not count',
      { scaler: -1, set: -9, machines: [marked('a', -1)], named: 'other' },
      -1,
      -1,
    ],
    [
      'a scale-down and scale-up between two reconciles: all names',
      { undone: true, scaler: -1, set: -9, machines: [marked('a', -1), marked('b', -1)] },
      undefined,
      -1,
    ],
    [
      'a scale-up after a scale-down that a former manager saw: the seen names',
      { scaler: -1, set: -9, machines: [seen('a', -2), marked('b', -1)] },
      undefined,
      -2,
    ],
    [
      'a smaller scale-down than the seen one: the seen names',
      { replicas: 4, scaler: -1, set: -9, machines: [seen('a', -1), seen('b', -1)] },
      undefined,
      -1,
    ],
    [
      'a machine that is named again: the scale-down of its new name is not seen',
      { scaler: -1, set: -9, machines: [seen('a', -1, -3)] },
      undefined,
      undefined,
    ],
  ])('%s', (_title, given, always, withFall) => {
    const text = (at: number | undefined) => (at === undefined ? undefined : minutes(at));
    expect(times(given)).toEqual({ always: text(always), withFall: text(withFall) });
  });
});

test('a time with a fraction of a second stays exact, so that no name waits for the rest of the second', () => {
  const one = marked('a', -1);
  const at = '2025-01-01T00:00:00.250Z';
  const annotations = { ...one.metadata.annotations, [Annotations.MarkedForDeletionTime]: at };
  const machines = [{ ...one, metadata: { ...one.metadata, annotations } }];
  const input = inputOf({ replicas: 4, machines, named: `a~${at}` });
  expect(scalerTimes(input).withFall).toBe(at);
  expect(newlySeen(input)).toEqual(new Map([['a', at]]));
});

describe('a scale-down that a manager saw', () => {
  const two = [marked('a', -2), marked('b', -1)];

  test.each<[title: string, given: Given, recorded: Readonly<Record<string, number>>]>([
    ['each counted name is recorded', { replicas: 3, machines: two }, { a: -2, b: -1 }],
    ['a name that waits for a later scale-down is not', { replicas: 4, machines: two }, { a: -2 }],
    ['without a scale-down, no name is', { machines: two }, {}],
    [
      'a recorded name is not recorded again',
      { replicas: 3, machines: [seen('a', -2), two[1] ?? marked('b', -1)] },
      { b: -1 },
    ],
    ['a name that an earlier scale-down covers is not', { replicas: 3, set: -2, machines: two }, { b: -1 }],
  ])('%s', (_title, given, recorded) => {
    const wanted = Object.entries(recorded).map(([name, at]) => [name, minutes(at)] as const);
    expect(newlySeen(inputOf(given))).toEqual(new Map(wanted));
  });

  test.each<[title: string, given: Given, isBack: boolean]>([
    ['the replicas rose again', { machines: [seen('a', -1)] }, true],
    ['the replicas are still reduced', { replicas: 4, machines: [seen('a', -1)] }, false],
    ['the set already deletes the machine', { set: -1, machines: [seen('a', -1)] }, false],
    ['no name was seen', { machines: [marked('a', -1)] }, false],
  ])('%s: taken back: %s', (_title, given, isBack) => {
    expect(isTakenBack(inputOf(given))).toBe(isBack);
  });
});

describe('down and up again unseen', () => {
  const pool = (generation: number, observedGeneration: number | undefined, named: string) => {
    const given = deployment(3, {
      annotations: { [LIST]: named },
      ...(observedGeneration === undefined ? {} : { status: { observedGeneration } }),
    });
    return { ...given, metadata: { ...given.metadata, generation } };
  };
  const fresh = machine('a', { phase: 'Running' });

  test.each<[title: string, seen: boolean, generation: number, observed: number | undefined, machine: Machine]>([
    ['two changes of the spec and a name that is new', true, 4, 2, fresh],
    ['one change', false, 3, 2, fresh],
    ['no status yet', false, 4, undefined, fresh],
    ['the name is not new', false, 4, 2, marked('a', -5)],
    ['the machine is being deleted', false, 4, 2, machine('a', { phase: 'Running', deleting: true })],
    ['another machine', false, 4, 2, machine('b', { phase: 'Running' })],
  ])('%s: %s', (_title, seen, generation, observed, one) => {
    expect(isUndone(pool(generation, observed, 'a'), [one])).toBe(seen);
  });
});
