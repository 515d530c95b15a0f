import { Labels, type Machine } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { machine, machinesOf, set } from '../../set/test-objects.ts';
import type { InPlaceSnapshot, SetWithMachines } from '../state/in-place-snapshot.ts';
import {
  intoSurge,
  keptAboveZero,
  repairSizes,
  resizeCurrent,
  roomOf,
  sizesOfMoved,
  surplusGone,
} from './in-place-sizes.ts';

const NOT_REFILLED = { [Labels.ScaleUpDisabled]: 'true' };
const MOVED = { [Labels.UpdateResult]: 'successful' };

const withMachines = (name: string, replicas: number, machines: readonly Machine[], labels = {}): SetWithMachines => ({
  set: set(name, replicas, { labels }),
  machines,
});
const full = (name: string, count: number, replicas = count, labels = {}): SetWithMachines =>
  withMachines(name, replicas, machinesOf(count, 'Running', name), labels);
const moved = (count: number, name = 'm'): Machine[] =>
  Array.from({ length: count }, (_, i) => machine(`${name}${i}`, { phase: 'Running', labels: MOVED }));

const snapshot = (
  current: SetWithMachines,
  old: readonly SetWithMachines[],
  change: Partial<InPlaceSnapshot> = {},
): InPlaceSnapshot => ({
  current,
  old,
  replicas: 4,
  surge: 0,
  unavailable: 1,
  manual: false,
  nodeOf: () => undefined,
  ...change,
});
const plain = (resize: ReadonlyMap<string, number>) => Object.fromEntries(resize);

test('a moved machine reduces the size of its old set and increases that of the new one', () => {
  const old = full('old', 3, 4, NOT_REFILLED);
  expect(plain(sizesOfMoved(snapshot(withMachines('new', 0, moved(1)), [old])))).toEqual({ old: 3, new: 1 });
  expect(plain(sizesOfMoved(snapshot(withMachines('new', 1, moved(1)), [full('old', 3, 3, NOT_REFILLED)])))).toEqual(
    {},
  );
  const going = [machine('m', { phase: 'Running', labels: MOVED, deleting: true })];
  expect(plain(sizesOfMoved(snapshot(withMachines('new', 0, going), [full('old', 3, 3, NOT_REFILLED)])))).toEqual({});
});

test('a set that lost a machine keeps its size if no machine was moved', () => {
  const old = full('old', 2, 2, NOT_REFILLED);
  expect(plain(sizesOfMoved(snapshot(full('new', 1, 2), [old])))).toEqual({});
});

test('only moved machines above the size of their set are not counted yet', () => {
  const old = full('old', 2, 2, NOT_REFILLED);
  const counted = (replicas: number, own: number, came: number) => {
    const machines = [...machinesOf(own, 'Running', 'n'), ...moved(came)];
    return plain(sizesOfMoved(snapshot(withMachines('new', replicas, machines), [old], { replicas: 9 })));
  };
  expect([counted(2, 1, 2), counted(1, 2, 0), counted(1, 0, 3)]).toEqual([{ new: 3 }, {}, { new: 3 }]);
});

test('machines that were moved into several sets share the available replicas', () => {
  const old = withMachines('old', 0, moved(1, 'o'), NOT_REFILLED);
  const now = snapshot(withMachines('new', 0, moved(2)), [old], { replicas: 2 });
  expect(plain(sizesOfMoved(now))).toEqual({ old: 1, new: 1 });
});

test('a set that may create machines keeps its size and creates another machine', () => {
  const now = snapshot(withMachines('new', 0, moved(1)), [full('old', 3, 4)]);
  expect(plain(sizesOfMoved({ ...now, surge: 1 }))).toEqual({ new: 1 });
  expect(plain(sizesOfMoved(now))).toEqual({});
});

test('machines that were moved back take their places from the current set', () => {
  const old = withMachines('old', 2, [...machinesOf(2, 'Running', 'o'), ...moved(1)], NOT_REFILLED);
  expect(plain(sizesOfMoved(snapshot(full('new', 1, 2), [old])))).toEqual({ new: 1, old: 3 });
  expect(plain(sizesOfMoved(snapshot(full('new', 0, 2), [old])))).toEqual({ new: 1, old: 3 });
  const two = withMachines('old', 1, [...machinesOf(1, 'Running', 'o'), ...moved(2)], NOT_REFILLED);
  expect(plain(sizesOfMoved(snapshot(full('new', 2, 3), [two])))).toEqual({ new: 2, old: 2 });
});

test('only the places of moved machines are freed, set by set', () => {
  const sets = [full('a', 1, 2, NOT_REFILLED), full('b', 0, 2, NOT_REFILLED)];
  expect(plain(sizesOfMoved(snapshot(withMachines('new', 0, moved(2)), sets)))).toEqual({ a: 1, b: 1, new: 2 });
  expect(plain(sizesOfMoved(snapshot(withMachines('new', 0, moved(1)), sets)))).toEqual({ a: 1, new: 1 });
});

test('sizes of moved machines stay within the size of the deployment', () => {
  const old = full('old', 2, 2, NOT_REFILLED);
  const now = (change: Partial<InPlaceSnapshot>) =>
    plain(sizesOfMoved(snapshot(withMachines('new', 1, moved(4)), [old], change)));
  expect(now({})).toEqual({ new: 2 });
  expect(now({ surge: 1 })).toEqual({ new: 3 });
  expect(now({ replicas: 3 })).toEqual({});
  expect(now({ replicas: 2 })).toEqual({});
});

test('the room of a deployment counts planned sizes', () => {
  const bounds = snapshot(full('new', 1), [full('old', 2)], { surge: 2 });
  expect([
    roomOf(bounds),
    roomOf(
      bounds,
      new Map([
        ['old', 0],
        ['new', 3],
      ]),
    ),
  ]).toEqual([3, 3]);
});

test('only a set that may not create machines gets its actual size', () => {
  const sets = [full('a', 1, 3, NOT_REFILLED), full('b', 1, 3), full('c', 2, 2, NOT_REFILLED)];
  expect(plain(repairSizes(snapshot(full('new', 0), sets)))).toEqual({ a: 1 });
});

test('the sizes never fall to 0 in total: the current set gets the places', () => {
  const kept = (change: Partial<InPlaceSnapshot>, resize: ReadonlyMap<string, number>) =>
    plain(keptAboveZero(snapshot(full('new', 0), [full('old', 1)], change), resize));
  expect(kept({}, new Map([['old', 0]]))).toEqual({ old: 0, new: 4 });
  expect(kept({ ceiling: 2 }, new Map([['old', 0]]))).toEqual({ old: 0, new: 2 });
  expect(kept({ ceiling: 0 }, new Map([['old', 0]]))).toEqual({ old: 0, new: 1 });
  expect(kept({ ceiling: 9 }, new Map([['old', 0]]))).toEqual({ old: 0, new: 4 });
  expect(kept({ replicas: 0 }, new Map([['old', 0]]))).toEqual({ old: 0 });
  expect(kept({}, new Map())).toEqual({});
  expect(
    kept(
      {},
      new Map([
        ['old', 0],
        ['new', 1],
      ]),
    ),
  ).toEqual({ old: 0, new: 1 });
});

test.each<
  [
    what: string,
    current: number,
    old: number,
    change: Partial<InPlaceSnapshot>,
    sizes: object | undefined,
    because: string,
  ]
>([
  ['a current set that is too large', 6, 0, {}, { new: 4 }, 'spec.replicas was reduced'],
  [
    'old machines beyond replicas and surge',
    1,
    5,
    { surge: 1 },
    { old: 4 },
    'spec.replicas was reduced: deleting surplus machines',
  ],
  ['all replicas have a machine', 1, 3, {}, undefined, ''],
  ['the surge is used', 1, 4, { surge: 1 }, undefined, ''],
  ['a current set with all replicas', 4, 0, {}, undefined, ''],
  ['missing machines', 1, 1, {}, { new: 3 }, 'the current set creates the missing machines'],
  [
    'missing machines and a ceiling',
    1,
    1,
    { ceiling: 1, good: 'old' },
    { old: 3 },
    'the last good set creates the missing machines, because the current set never had all its machines',
  ],
  ['missing machines, a ceiling and no good set', 1, 1, { ceiling: 1 }, undefined, ''],
])('sizes that need no machine to move: %s', (_what, current, old, change, sizes, because) => {
  const step = resizeCurrent(snapshot(full('new', current), [full('old', old)], change));
  expect([step && plain(step.resize), step?.because ?? '']).toEqual([sizes, because]);
});

test('the last good set creates what the available machines of other old sets do not cover', () => {
  const made = (other: SetWithMachines) => {
    const now = snapshot(full('new', 0), [other, full('good', 1)], { ceiling: 0, good: 'good' });
    const step = resizeCurrent(now);
    return step && plain(step.resize);
  };
  expect(made(full('other', 2))).toEqual({ good: 2 });
  expect(made(withMachines('other', 2, machinesOf(2, 'Unknown', 'u')))).toEqual({ good: 2 });
});

const surged = (change: Partial<InPlaceSnapshot>, current = full('new', 1), old = [full('old', 3)]) =>
  plain(intoSurge(snapshot(current, old, { surge: 1, ...change })));

test('the surge is created when all machines are available and none is being updated', () => {
  expect(surged({})).toEqual({ new: 2 });
  expect(surged({ surge: 3 })).toEqual({ new: 4 });
  expect(surged({ surge: 0 })).toEqual({});
  expect(surged({ manual: true })).toEqual({});
  expect(surged({ repairsFirst: true })).toEqual({});
  expect(surged({}, full('new', 2))).toEqual({});
  expect(surged({}, full('new', 3), [full('old', 0)])).toEqual({});
});

test('the surge waits for machines that are missing, not available or selected', () => {
  expect(surged({}, full('new', 0, 1))).toEqual({});
  expect(surged({}, full('new', 2, 1))).toEqual({});
  expect(
    surged({}, full('new', 1), [
      withMachines('old', 3, [...machinesOf(2, 'Running', 'o'), ...machinesOf(1, 'Unknown', 'u')]),
    ]),
  ).toEqual({});
  const old = withMachines('old', 3, [
    ...machinesOf(2, 'Running', 'o'),
    machine('s', { phase: 'Running', labels: { [Labels.Node]: 's' } }),
  ]);
  const nodeOf = (labels: object) => (name: string) =>
    name === 's' ? partial<Node>({ metadata: { name, labels } }) : undefined;
  expect(surged({ nodeOf: nodeOf({ [Labels.SelectedForUpdate]: 'true' }) }, full('new', 1), [old])).toEqual({});
  expect(surged({ nodeOf: nodeOf({}) }, full('new', 1), [old])).toEqual({ new: 2 });
});

const gone = (current: SetWithMachines, left: readonly SetWithMachines[], change: Partial<InPlaceSnapshot> = {}) =>
  plain(surplusGone(snapshot(current, left, change), left));

test('surplus old machines are deleted as far as enough are available; unavailable ones are deleted at once', () => {
  expect(gone(full('new', 3), [full('old', 1)])).toEqual({ old: 0 });
  expect(gone(full('new', 2), [full('old', 2)])).toEqual({ old: 1 });
  expect(gone(full('new', 1), [full('old', 2)])).toEqual({});
  const idle = withMachines('old', 3, [...machinesOf(1, 'Running', 'o'), ...machinesOf(2, 'Unknown', 'u')]);
  expect(gone(full('new', 2), [idle])).toEqual({ old: 1 });
  const unhealthy = withMachines('new', 3, [...machinesOf(2, 'Running', 'n'), ...machinesOf(1, 'Unknown', 'u')]);
  expect(gone(unhealthy, [full('old', 2)])).toEqual({ old: 1 });
  expect(gone(full('new', 5, 2), [full('old', 2)])).toEqual({ old: 1 });
  expect(gone(full('new', 3), [full('old', 2)], { repairsFirst: true })).toEqual({});
  expect(gone(full('new', 3), [full('a', 1), full('b', 2)])).toEqual({ a: 0, b: 0 });
  expect(gone(full('new', 2), [full('a', 1), full('b', 1)])).toEqual({ a: 0 });
});

test.each([
  ['new machines that are not available', 'Running', { new: 2 }],
  ['first old, then new machines that are not available', 'Pending', { old: 1, new: 3 }],
] as const)('a scale-down deletes %s, and no available one that is needed', (_title, second, sizes) => {
  const pending = withMachines('new', 4, machinesOf(4, 'Pending', 'new'));
  const old = withMachines('old', 2, [...machinesOf(1, 'Running', 'old'), machine('old-x', { phase: second })]);
  const result = resizeCurrent(snapshot(pending, [old], { unavailable: 2 }));
  expect(plain(result?.resize ?? new Map())).toEqual(sizes);
});
