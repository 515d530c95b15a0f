import { Annotations, type Machine } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { deployment, machine, minutes, NOW, set } from '../../set/test-objects.ts';
import { isUndone, type ScalerTimeInput, scalerTimes } from './scaler-time.ts';

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
  /** Replicas of the set, now and at its last scaling. */
  readonly before?: number;
  /** Time of the last scaler change on the deployment, in minutes from now. */
  readonly scaler?: number | undefined;
  /** Time of the last scaler change on the set, in minutes from now. */
  readonly set?: number;
  readonly machines?: readonly Machine[];
  readonly named?: string;
  readonly undone?: boolean;
}

function times(given: Given) {
  const { replicas = 5, before = 5, scaler, machines = [], undone = false } = given;
  const input: ScalerTimeInput = {
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
  return scalerTimes(input);
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
  ])('%s', (_title, given, always, withFall) => {
    const text = (at: number | undefined) => (at === undefined ? undefined : minutes(at));
    expect(times(given)).toEqual({ always: text(always), withFall: text(withFall) });
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
