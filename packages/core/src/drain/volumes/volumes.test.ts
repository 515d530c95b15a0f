import { expect, test } from 'vitest';
import {
  type AttachRoom,
  type DrainMemory,
  type DrainPod,
  NO_DRAIN_MEMORY,
  type VolumeMove,
} from '../model/observation.ts';
import { later, look, MINUTE, pod, withVolume } from '../testing.ts';
import { beginMove, byPriority, mayMove, nextPlaceAt, trackVolumes } from './volumes.ts';

const moveOf = (name: string, change: Partial<VolumeMove> = {}): readonly [string, VolumeMove] => [
  `uid-${name}`,
  { pod: pod(name), volumes: [`pv-${name}`], returns: true, ...change },
];
const remember = (...moves: readonly (readonly [string, VolumeMove])[]): DrainMemory => ({
  ...NO_DRAIN_MEMORY,
  moves: new Map(moves),
});
const GONE = { goneAt: later(0) };
const DETACHED = { goneAt: later(0), detachedAt: later(0) };

test.each<[what: string, given: DrainPod, move: Partial<VolumeMove> | undefined]>([
  [
    'a pod of a set',
    withVolume('a'),
    { pod: { namespace: 'default', name: 'a', uid: 'uid-a' }, volumes: ['pv-a'], returns: true },
  ],
  ['a pod without an owner', withVolume('a', { ownerKind: undefined }), { returns: false }],
  ['a pod that has succeeded', withVolume('a', { phase: 'Succeeded' }), { returns: false }],
  ['a pod that has failed', withVolume('a', { phase: 'Failed' }), { returns: false }],
  ['a pod that shares its volumes', pod('a', { hasClaims: true }), undefined],
])('the move of a volume, and whether it returns: %s', (_what, given, move) => {
  const begun = beginMove(given);
  if (move === undefined) expect(begun).toBeUndefined();
  else expect(begun).toMatchObject(move);
});

test('pods are sorted by descending priority, then by namespace and name', () => {
  const given = [
    pod('b', { priority: 1 }),
    pod('d', { priority: 9 }),
    pod('a', { priority: 1 }),
    pod('c', { priority: 9 }),
    pod('z', { priority: 1, namespace: 'a' }),
  ];
  const order = ['c', 'd', 'z', 'a', 'b'];
  expect(given.toSorted(byPriority).map(({ name }) => name)).toEqual(order);
  expect(
    given
      .toReversed()
      .toSorted(byPriority)
      .map(({ name }) => name),
  ).toEqual(order);
});

const moving = (pods: readonly DrainPod[], change: Parameters<typeof look>[1] = {}, ms = 1_000): readonly string[] => {
  const o = look(pods, change);
  return pods.filter((each) => mayMove(o, each, later(ms))).map(({ name }) => name);
};
const two = [withVolume('a'), withVolume('b')];

test.each<[what: string, pods: readonly DrainPod[], change: Parameters<typeof look>[1], names: string[]]>([
  ['one after the other', two, {}, ['a']],
  ['the highest priority first', [withVolume('a'), withVolume('b', { priority: 1 })], {}, ['b']],
  ['all, if the cloud ends the VM', two, { urgent: true }, ['a', 'b']],
  ['all, in a cluster without VolumeAttachments', two, { tracksVolumes: false }, ['a', 'b']],
  ['a pod without own volumes always', [withVolume('a'), pod('b'), pod('c', { hasClaims: true })], {}, ['a', 'b', 'c']],
  [
    'a DaemonSet pod takes no turn',
    [withVolume('a', { ownerKind: 'DaemonSet', priority: 9 }), withVolume('b')],
    {},
    ['b'],
  ],
  ['a pod without own volumes takes no turn', [pod('x', { priority: 9 }), withVolume('a')], {}, ['x', 'a']],
  [
    'a terminating pod takes no turn',
    [withVolume('a', { dueAt: later(MINUTE), priority: 9 }), withVolume('b')],
    {},
    ['b'],
  ],
  ['a pod whose move has begun', two, { memory: remember(moveOf('a')) }, ['a']],
  ['none while a volume is attached', [withVolume('b')], { memory: remember(moveOf('a', GONE)) }, []],
  ['none while a volume is not attached elsewhere', [withVolume('b')], { memory: remember(moveOf('a', DETACHED)) }, []],
  [
    'one when it is attached elsewhere',
    [withVolume('b')],
    { memory: remember(moveOf('a', DETACHED)), attachedElsewhere: new Set(['pv-a']) },
    ['b'],
  ],
  [
    'none when only one of two volumes is attached elsewhere',
    [withVolume('b')],
    { memory: remember(moveOf('a', { ...DETACHED, volumes: ['pv-a', 'pv-2'] })), attachedElsewhere: new Set(['pv-a']) },
    [],
  ],
  [
    'one if the former pod does not return',
    [withVolume('b')],
    { memory: remember(moveOf('a', { ...DETACHED, returns: false })) },
    ['b'],
  ],
])('pods with volumes that may be evicted: %s', (_what, pods, change, names) => {
  expect(moving(pods, change)).toEqual(names);
});

const wide = (room: Record<string, number>, ...moves: readonly (readonly [string, VolumeMove])[]) => ({
  volumeWindow: 3,
  memory: remember(
    moveOf('x', { ...DETACHED, returns: false }),
    moveOf('y', { ...DETACHED, returns: false }),
    ...moves,
  ),
  attach: {
    room: new Map(Object.entries(room)),
    driverOf: new Map([...'abcm'].map((name) => [`pv-${name}`, 'csi'])),
  } satisfies AttachRoom,
});
const three = [withVolume('a'), withVolume('b'), withVolume('c')];
const bare = (name: string): DrainPod => withVolume(name, { ownerKind: undefined });

test.each<[what: string, pods: readonly DrainPod[], change: ReturnType<typeof wide>, names: string[]]>([
  ['a driver without a limit', three, wide({}), ['a', 'b', 'c']],
  ['a pod whose move has begun takes one place', three, wide({}, moveOf('a')), ['a', 'b', 'c']],
  ['room for all', three, wide({ csi: 3 }), ['a', 'b', 'c']],
  ['room for two', three, wide({ csi: 2 }), ['a', 'b']],
  ['no room: one pod may always move', three, wide({ csi: 0 }), ['a']],
  ['no room, and a volume is moving', three, wide({ csi: 0 }, moveOf('m')), []],
  ['room for one, which a moving volume takes', three, wide({ csi: 1 }, moveOf('m')), []],
  ['room for two, one of which a moving volume takes', three, wide({ csi: 2 }, moveOf('m')), ['a']],
  [
    'the moving volume of a pod without an owner takes no room',
    three,
    wide({ csi: 1 }, moveOf('m', { returns: false })),
    ['a'],
  ],
  ['the limit of another driver', three, wide({ other: 0 }), ['a', 'b', 'c']],
  ['volumes of an unknown driver', [withVolume('q'), withVolume('r')], wide({ csi: 0 }), ['q', 'r']],
  ['pods without an owner need no room', [bare('a'), bare('b'), withVolume('c')], wide({ csi: 1 }), ['a', 'b', 'c']],
  [
    'a pod whose second volume has no room is not evicted',
    [withVolume('a'), pod('b', { hasClaims: true, volumes: ['pv-b', 'pv-c'] })],
    wide({ csi: 2 }),
    ['a'],
  ],
  [
    'a pod that does not fit stops those after it',
    [withVolume('a'), pod('b', { hasClaims: true, volumes: ['pv-b', 'pv-c'] }), withVolume('q')],
    wide({ csi: 2 }),
    ['a'],
  ],
])('the volumes that other nodes can attach limit the evictions: %s', (_what, pods, change, names) => {
  expect(moving(pods, change)).toEqual(names);
});

test('a place is free when the first of the moves has reached its time limit', () => {
  const o = (...moves: readonly (readonly [string, VolumeMove])[]) => look([], { memory: remember(...moves) });
  expect(nextPlaceAt(o(), later(0))).toBeUndefined();
  expect(nextPlaceAt(o(moveOf('a')), later(0))).toBeUndefined();
  expect(nextPlaceAt(o(moveOf('a', { goneAt: later(5_000) }), moveOf('b', GONE)), later(0))).toEqual(later(2 * MINUTE));
  expect(nextPlaceAt(o(moveOf('a', DETACHED)), later(0))).toEqual(later(90_000));
  const late = o(moveOf('a', GONE), moveOf('b', { goneAt: later(MINUTE) }));
  expect(nextPlaceAt(late, later(2 * MINUTE))).toEqual(later(3 * MINUTE));
});

test('the time at which a pod has ended and its volumes are detached is recorded once', () => {
  const here = [{ name: 'va', volume: 'pv-a', deleting: false }];
  const track = (memory: DrainMemory, ms: number, pods: readonly DrainPod[], attachments = here) =>
    trackVolumes(look(pods, { memory, attachments }), later(ms));
  const begun = remember(moveOf('a'));
  const going = track(begun, 0, [withVolume('a', { dueAt: later(MINUTE) })]);
  expect(going).toBe(begun);
  const gone = track(going, 1_000, [pod('web')]);
  expect(gone.moves.get('uid-a')).toEqual({ ...moveOf('a')[1], goneAt: later(1_000) });
  const detached = track(gone, 2_000, [pod('web')], []);
  expect(detached.moves.get('uid-a')).toMatchObject({ goneAt: later(1_000), detachedAt: later(2_000) });
  expect(track(detached, 3_000, [pod('web')])).toBe(detached);
});

test('the time since which no pod has to be evicted is recorded, and forgotten if there is one again', () => {
  const ds = pod('ds', { ownerKind: 'DaemonSet' });
  const track = (memory: DrainMemory, ms: number, ...pods: readonly DrainPod[]) =>
    trackVolumes(look(pods, { memory }), later(ms));
  expect(track(NO_DRAIN_MEMORY, 0, pod('a'), ds)).toBe(NO_DRAIN_MEMORY);
  const empty = track({ ...NO_DRAIN_MEMORY, cordonFailed: true }, 1_000, ds);
  expect(empty).toMatchObject({ emptySince: later(1_000), cordonFailed: true });
  expect(track(empty, 2_000, ds)).toBe(empty);
  expect(track(empty, 3_000, pod('a'), ds).emptySince).toBeUndefined();
});
