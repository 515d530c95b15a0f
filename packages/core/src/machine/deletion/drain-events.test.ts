import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planDrain } from '../../drain/drain.ts';
import type { DrainMemory, DrainObservation } from '../../drain/model/observation.ts';
import { NO_DRAIN_MEMORY } from '../../drain/model/observation.ts';
import { budget, later, look, MINUTE, pod, withVolume } from '../../drain/testing.ts';
import { NOON } from '../testing.ts';
import { blockerEvents } from './drain-events.ts';

const events = (o: DrainObservation, now = NOON) => blockerEvents(o, planDrain(o, now)).map(({ event }) => event);

const remembering = (o: DrainObservation, now = NOON): DrainMemory => ({
  ...o.memory,
  reported: new Set([
    ...(o.memory.reported ?? []),
    ...blockerEvents(o, planDrain(o, now)).flatMap(({ causes }) => causes),
  ]),
});

const stuck = (name: string, key = 'default/web') =>
  pod(name, { budgets: [budget({ key, misconfigured: true, rule: 'maxUnavailable: 0, 3 of 3 pods needed' })] });

test('a budget that never allows a disruption causes one event with a hint, however many pods it blocks', () => {
  const o = look(['a', 'b', 'c', 'd'].map((name) => stuck(name)));
  expect(events(o)).toEqual([
    {
      type: 'Warning',
      reason: 'DeletionBlocked',
      message:
        'Drain failed due to - error while evicting pod "default/a": pod disruption budget default/web is misconfigured and requires zero voluntary evictions; change budget default/web to allow a disruption (maxUnavailable: 0, 3 of 3 pods needed)',
    },
  ]);
});

test('when the list of blockers changes, only new ones are reported', () => {
  const o = look([stuck('a'), stuck('b')]);
  const memory = remembering(o);
  expect(events({ ...o, pods: [stuck('b')], memory })).toEqual([]);
  expect(events({ ...o, pods: [stuck('b'), stuck('late')], memory })).toEqual([]);
  const [event, ...others] = events({ ...o, pods: [stuck('b'), stuck('db', 'default/db')], memory });
  expect(event?.message).toContain('budget default/db is misconfigured');
  expect(event?.message).not.toContain('default/web');
  expect(others).toEqual([]);
});

test('a pod whose eviction fails is reported once, with any later error', () => {
  const failed = (message: string, memory: DrainMemory = NO_DRAIN_MEMORY): DrainObservation => {
    const attempt = { at: NOON, result: 'failed', message, count: 1, budgets: '' } as const;
    return look([pod('a')], { memory: { ...memory, attempts: new Map([['uid-a', attempt]]) } });
  };
  const first = failed('etcdserver: request timed out, 1234');
  expect(events(first)).toMatchObject([{ message: expect.stringContaining('timed out, 1234') }]);
  expect(events(failed('etcdserver: leader changed', remembering(first)))).toEqual([]);
});

test('a blocker that only takes time causes no event', () => {
  const o = look([
    pod('web', { budgets: [budget()] }),
    pod('old', { dueAt: later(1_000) }),
    withVolume('a'),
    withVolume('b'),
  ]);
  expect(events(o)).toEqual([]);
});

test('pods that do not end are reported together, by name', () => {
  const o = look(['b', 'a'].map((name) => pod(name, { dueAt: later(-MINUTE) })));
  expect(events(o)).toMatchObject([
    {
      reason: 'PodDoesNotEnd',
      message:
        'Pods default/a, default/b do not terminate. Check the finalizers of the pods and the kubelet. The label force-deletion=true on the machine ends the wait',
    },
  ]);
  expect(events({ ...o, memory: remembering(o) })).toEqual([]);
});

test('a volume that stays attached too long is reported once, with the pod that used it', () => {
  const move = { pod: pod('a'), volumes: ['pv-a'], returns: true, goneAt: NOON };
  const memory = { ...NO_DRAIN_MEMORY, moves: new Map([['uid-a', move]]), emptySince: NOON };
  const o = look([], { memory, attachments: [{ name: 'va', volume: 'pv-a', deleting: true }] });
  expect(events(o, later(2 * MINUTE - 1))).toEqual([]);
  expect(planDrain(o, later(2 * MINUTE)).drained).toBe(true);
  expect(events(o, later(2 * MINUTE))).toEqual([
    {
      type: 'Warning',
      reason: 'VolumeStaysAttached',
      message:
        'The drain continues: volume pv-a of pod default/a is still attached after 2m0s; check the VolumeAttachment and the CSI driver',
    },
  ]);
  expect(events({ ...o, memory: remembering(o, later(2 * MINUTE)) }, later(3 * MINUTE))).toEqual([]);
});

test('a drain reports each cause once, after any changes', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const one = fc.oneof(
    fc.tuple(name, fc.constantFrom('default/web', 'default/db')).map(([of, key]) => stuck(of, key)),
    name.map((of) => pod(of, { dueAt: later(-MINUTE) })),
    name.map((of) => pod(of)),
  );
  const looks = fc.array(fc.uniqueArray(one, { selector: ({ uid }) => uid, maxLength: 4 }), { maxLength: 12 });
  fc.assert(
    fc.property(looks, (each) => {
      let memory: DrainMemory = NO_DRAIN_MEMORY;
      const causes: string[] = [];
      for (const pods of each) {
        const o = look(pods, { memory });
        const found = blockerEvents(o, planDrain(o, NOON));
        causes.push(...found.flatMap((telling) => telling.causes));
        memory = remembering(o);
      }
      expect(causes).toEqual([...new Set(causes)]);
      const wrong = each
        .flat()
        .map(({ name: of, dueAt, budgets: [its] }) => (dueAt ? `pod default/${of}` : its && `budget ${its.key}`));
      expect(new Set(causes)).toEqual(new Set(wrong.filter((cause) => cause !== undefined)));
    }),
  );
});
