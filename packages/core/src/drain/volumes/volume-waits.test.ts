import { expect, test } from 'vitest';
import { planDrain } from '../drain.ts';
import { type DrainMemory, type DrainObservation, NO_DRAIN_MEMORY, type VolumeMove } from '../model/observation.ts';
import { later, look, MINUTE, pod, withVolume } from '../testing.ts';
import { trackVolumes } from './volumes.ts';

const SECOND = 1_000;

const moving = (name: string, change: Partial<VolumeMove> = {}): DrainMemory => ({
  ...NO_DRAIN_MEMORY,
  moves: new Map([[`uid-${name}`, { pod: pod(name), volumes: [`pv-${name}`], returns: true, ...change }]]),
});

const attached = (name: string) => ({ name: `va-${name}`, volume: `pv-${name}`, deleting: true });

test('a volume that stays attached is reported to waiting pods, with its pod and time limit', () => {
  const o = look([withVolume('b')], {
    memory: moving('a', { goneAt: later(0) }),
    attachments: [attached('a'), attached('b')],
  });
  expect(planDrain(o, later(9 * SECOND))).toMatchObject({ evict: [], blockers: [], lookAgainAt: later(10 * SECOND) });
  const plan = planDrain(o, later(10 * SECOND));
  expect(plan.blockers).toMatchObject([
    {
      text: 'volume pv-a of pod default/a is still attached; mcm waits until 2026-01-01T12:02:00Z',
      failed: false,
      hint: expect.stringContaining('VolumeAttachment'),
    },
  ]);
  expect(plan.lookAgainAt).toEqual(later(2 * MINUTE));
  expect(planDrain(o, later(2 * MINUTE))).toMatchObject({ evict: [{ name: 'b' }], blockers: [] });
});

test('a volume that its kubelet still has mounted is reported as such', () => {
  const o = look([withVolume('b')], {
    memory: moving('a', { goneAt: later(0) }),
    attachments: [{ volume: 'pv-a', deleting: false, inUse: true }],
  });
  expect(planDrain(o, later(MINUTE)).blockers[0]?.text).toMatch(/^volume pv-a of pod default\/a is still in use; /);
});

test('a volume that is not attached again is reported until the re-attach timeout', () => {
  const o = look([withVolume('b')], { memory: moving('a', { goneAt: later(0), detachedAt: later(SECOND) }) });
  expect(planDrain(o, later(10 * SECOND)).blockers).toEqual([]);
  expect(planDrain(o, later(11 * SECOND)).blockers).toMatchObject([
    { text: 'volume pv-a of pod default/a is not attached to another node yet; mcm waits until 2026-01-01T12:01:31Z' },
  ]);
  const arrived = { ...o, attachedElsewhere: new Set(['pv-a']) };
  expect(planDrain(arrived, later(11 * SECOND))).toMatchObject({ evict: [{ name: 'b' }], blockers: [] });
});

test('no pod waits for its turn, and detached volumes delay no pod', () => {
  const o = look([pod('old', { dueAt: later(30 * SECOND) })], {
    memory: moving('a', { goneAt: later(0) }),
    attachments: [attached('a')],
  });
  expect(planDrain(o, later(20 * SECOND)).blockers).toEqual([]);
});

test('at the end each volume has its own time limit, which does not start again', () => {
  const memory = {
    ...NO_DRAIN_MEMORY,
    emptySince: later(2 * MINUTE),
    moves: new Map([...moving('a', { goneAt: later(0) }).moves, ...moving('b', { goneAt: later(2 * MINUTE) }).moves]),
  };
  const o = look([], { memory, attachments: [attached('a'), attached('b')] });
  const plan = planDrain(o, later(3 * MINUTE));
  expect(plan.blockers).toMatchObject([
    { text: expect.stringMatching(/^volume pv-b of pod default\/b is still attached/) },
  ]);
  expect(plan.leftAttached).toMatchObject([{ text: 'volume pv-a of pod default/a is still attached after 2m0s' }]);
  expect(planDrain(o, later(4 * MINUTE)).drained).toBe(true);
});

test('a volume that keeps the drain waiting is reported as long as it waits, with what a user can do', () => {
  const inUse = { volume: 'pv-a', deleting: false, inUse: true } as const;
  const at = (
    ms: number,
    attachment: DrainObservation['attachments'][number] = attached('a'),
    memory = NO_DRAIN_MEMORY,
  ) => {
    const ds = withVolume('ds', { ownerKind: 'DaemonSet' });
    const since = { ...memory, emptySince: later(0) };
    return planDrain(look([ds], { memory: since, attachments: [attached('ds'), attachment] }), later(ms));
  };
  expect(at(0)).toMatchObject({ drained: false, blockers: [], lookAgainAt: later(10 * SECOND) });
  expect(at(10 * SECOND).blockers).toEqual([
    {
      text: 'volume pv-a is still attached; mcm waits until 2026-01-01T12:02:00Z',
      failed: false,
      hint: 'check the VolumeAttachment and the CSI driver; the detach timeout ends the wait',
    },
  ]);
  expect(at(10 * SECOND, inUse).blockers).toMatchObject([{ hint: expect.stringMatching(/so check the kubelet log/) }]);
  expect(at(10 * SECOND).lookAgainAt).toEqual(later(2 * MINUTE));
  expect(at(2 * MINUTE - 1).leftAttached).toEqual([]);
  const left = (attachment?: typeof inUse) => at(2 * MINUTE, attachment).leftAttached;
  const event = { reason: 'VolumeStaysAttached', cause: 'volume pv-a' };
  expect(left()).toEqual([
    {
      text: 'volume pv-a is still attached after 2m0s',
      failed: false,
      hint: 'check the VolumeAttachment and the CSI driver',
      event,
    },
  ]);
  expect(left(inUse)).toEqual([
    {
      text: 'volume pv-a is still in use after 2m0s',
      failed: false,
      hint: 'check the log of the kubelet on the node',
      event,
    },
  ]);
  const early = { memory: NO_DRAIN_MEMORY, attachments: [attached('a')], detachTimeoutMs: 0 };
  expect(planDrain(look([], early), later(0)).leftAttached).toEqual([]);
});

test('a volume that stayed attached is reported, although other pods are left', () => {
  const o = look([pod('web')], { memory: moving('a', { goneAt: later(0) }), attachments: [attached('a')] });
  expect(planDrain(o, later(2 * MINUTE)).leftAttached).toMatchObject([
    { text: 'volume pv-a of pod default/a is still attached after 2m0s' },
  ]);
});

test('a volume of a pod that came back to the node is awaited from the last end of the pod', () => {
  const twice = new Map([
    ...moving('a', { goneAt: later(0) }).moves,
    ...moving('b', { goneAt: later(2 * MINUTE), volumes: ['pv-a'] }).moves,
  ]);
  const memory = { ...NO_DRAIN_MEMORY, emptySince: later(2 * MINUTE), moves: twice };
  const plan = planDrain(look([], { memory, attachments: [attached('a')] }), later(3 * MINUTE));
  expect([plan.drained, plan.leftAttached]).toEqual([false, []]);
});

test('of a pod with two volumes only the one that is not attached elsewhere is reported', () => {
  const memory = moving('a', { goneAt: later(0), detachedAt: later(0), volumes: ['pv-a', 'pv-2'] });
  const o = look([withVolume('b')], { memory, attachedElsewhere: new Set(['pv-a']) });
  expect(planDrain(o, later(MINUTE)).blockers).toEqual([
    {
      text: 'volume pv-2 of pod default/a is not attached to another node yet; mcm waits until 2026-01-01T12:01:30Z',
      failed: false,
      hint: 'check the events of the new pod on another node; the re-attach timeout ends the wait',
    },
  ]);
  expect(planDrain(o, later(9 * SECOND)).lookAgainAt).toEqual(later(10 * SECOND));
});

test('a pod with a volume that another client evicted, or an earlier process, is awaited like one of this drain', () => {
  const o = look([withVolume('a', { dueAt: later(30 * SECOND) }), withVolume('b')]);
  const seen = { ...o, memory: trackVolumes(o, later(0)) };
  expect([...seen.memory.moves.keys()]).toEqual(['uid-a']);
  expect(trackVolumes(seen, later(SECOND))).toBe(seen.memory);
  expect(planDrain(seen, later(SECOND)).evict).toEqual([]);
});

test('a pod with a volume that does not terminate delays the others only as long as its volume would', () => {
  const o = look([withVolume('a', { dueAt: later(30 * SECOND) }), withVolume('b')], { memory: moving('a') });
  const limit = later(30 * SECOND + 2 * MINUTE);
  const waiting = planDrain(o, later(2 * MINUTE));
  expect(waiting).toMatchObject({
    evict: [],
    blockers: [{ text: 'pod default/a does not terminate' }],
    lookAgainAt: limit,
  });
  expect(planDrain(o, limit).evict).toMatchObject([{ name: 'b' }]);
});
