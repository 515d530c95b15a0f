import { Annotations } from '@mcm/api';
import { expect, test } from 'vitest';
import { countNamed } from '../../objects/scaler.ts';
import { deployment, machine, set } from '../../set/test-objects.ts';
import type { SetSize } from '../state/size.ts';
import { planScaling, type ScaleTarget } from './scaling.ts';

const size = (name: 'old' | 'new', replicas: number, named?: number): SetSize => ({
  name,
  createdAt: name === 'old' ? 1 : 2,
  replicas,
  actual: replicas,
  available: replicas,
  named,
  desired: 6,
  max: 7,
});

const ROLLING: ScaleTarget = {
  replicas: 5,
  limits: { surge: 1, annotatedSurge: 1, unavailable: 0 },
  strategy: 'RollingUpdate',
  statusReplicas: 7,
};

test.each<[what: string, current: SetSize, old: SetSize, replicas: number, sizes: { new?: number; old?: number }]>([
  [
    'the set of the named machine shrinks, although it is the smaller one',
    size('new', 2, 1),
    size('old', 5),
    5,
    { new: 1 },
  ],
  ['no more machines than the replicas fall by', size('new', 2, 2), size('old', 5), 5, { new: 1 }],
  ['no more machines than there are above the replicas', size('new', 2, 2), size('old', 3), 4, { new: 1 }],
  ['the current set comes first', size('new', 2, 1), size('old', 5, 1), 5, { new: 1 }],
  ['both sets shrink if both have a named machine', size('new', 2, 1), size('old', 5, 1), 4, { new: 1, old: 4 }],
  ['all sets share the rest', size('new', 2, 1), size('old', 5), 3, { new: 1, old: 3 }],
  ['a set may lose all its machines', size('new', 1, 1), size('old', 5), 3, { new: 0, old: 4 }],
  ['also without a surge machine', size('new', 2), size('old', 4, 1), 5, { old: 3 }],
])('a scale-in of named machines during a rollout: %s', (_what, current, old, replicas, sizes) => {
  const target = { ...ROLLING, replicas };
  expect(Object.fromEntries(planScaling({ current, old: [old] }, target).resize)).toEqual(sizes);
  const inPlace = planScaling({ current, old: [old] }, { ...target, strategy: 'InPlaceUpdate' });
  expect(inPlace.annotate).toEqual(['old', 'new']);
  expect(inPlace.resize.get('new')).toBe(sizes.new);
});

test.each<[what: string, machines: ReturnType<typeof machine>[], count: number]>([
  ['a machine in the list', [machine('a'), machine('b')], 1],
  ['a machine with priority 1', [machine('b', { priority: '1' }), machine('c')], 1],
  ['a machine with another priority does not count', [machine('b', { priority: '2' }), machine('c')], 0],
  ['a failed machine does not count', [machine('a', { phase: 'Failed' }), machine('b')], 0],
  [
    'a machine above the replicas does not count, because the set deletes it',
    [machine('a'), machine('b'), machine('c')],
    0,
  ],
])('the named machines of a set with two replicas: %s', (_what, machines, count) => {
  const pool = deployment(2, { annotations: { [Annotations.TriggerDeletion]: 'a~2026-01-01T12:00:00Z,elsewhere' } });
  expect(countNamed(set('pool', 2), machines, pool)).toBe(count);
});
