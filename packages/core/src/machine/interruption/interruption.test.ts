import { Annotations, type Machine } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { planDrain } from '../../drain/drain.ts';
import { look, pod, withVolume } from '../../drain/testing.ts';
import { timesOf } from '../../interruption/deadlines.ts';
import { interruptionOf } from '../../interruption/notice.ts';
import { successorOf } from '../../interruption/successor.ts';
import { planDeletion } from '../deletion/deletion.ts';
import { nextStep } from '../next-step.ts';
import { described, dying, see, T1, T2, terminating, verbs } from '../test-dying.ts';
import { at, machine, NOON, node } from '../testing.ts';

const stored = (deadline: string, noticedAt = at(0)): Record<string, string> => ({
  [Annotations.Interruption]: JSON.stringify({ kind: 'Terminate', id: 'n', noticedAt, deadline, detail: 'spot' }),
});
const minutes = (count: number): Date => new Date(NOON.getTime() + count * 60_000);
const OWNER = [{ apiVersion: 'v1', kind: 'MachineSet', name: 'set', uid: 'set', controller: true }];
const running = (annotations: Record<string, string>): Machine =>
  machine({
    metadata: { labels: { node: 'fakeNode-0' }, annotations },
    spec: { providerID: 'fakeID-0' },
    status: { currentStatus: { phase: 'Running', lastUpdateTime: at(0) } },
  });

describe('times of an interruption', () => {
  const times = (noticeMs: number) => {
    const deadline = new Date(NOON.getTime() + noticeMs);
    const { short, drainAt, forceAt } = timesOf(
      { kind: 'Terminate', id: 'n', noticedAt: NOON, deadline, detail: '' },
      2 * 3_600_000,
    );
    return [short, drainAt.getTime() - NOON.getTime(), deadline.getTime() - forceAt.getTime()];
  };
  test.each([
    ['30 s', 30_000, [true, 0, 5_000]],
    ['120 s', 120_000, [true, 0, 10_000]],
    ['15 min', 900_000, [false, 450_000, 10_000]],
    ['two weeks', 14 * 86_400_000, [false, 14 * 86_400_000 - 7_200_000, 10_000]],
    ['none', -5_000, [true, 0, 0]],
  ])('a notice of %s', (_, ms, expected) => {
    expect(times(ms).map((each) => (each === 0 ? 0 : each))).toEqual(ms < 0 ? [true, 0, 0] : expected);
  });
});

describe('an interrupted machine', () => {
  test('an interrupted machine is deleted, and its evidence is stored at the same time', () => {
    const o = see(running(stored(at(2))), { interruptions: true, keepsEvidence: true, node: node() });
    expect(verbs(nextStep(o, NOON).actions)).toEqual(['keepEvidence', 'deleteInterrupted']);
  });

  test('an interrupted machine gets its finalizer before it is deleted, so that its VM is not left behind', () => {
    const bare = running(stored(at(2)));
    const o = see({ ...bare, metadata: { ...bare.metadata, finalizers: [] } }, { interruptions: true, node: node() });
    expect(verbs(nextStep(o, NOON).actions)).toEqual(['addFinalizer']);
  });

  test('an interrupted machine does not change without --interruptions', () => {
    const o = see(running(stored(at(2))), { node: node() });
    expect(verbs(nextStep(o, NOON).actions)).not.toContain('deleteInterrupted');
  });

  test('an interrupted machine does not change if its VM has survived the deadline', () => {
    const o = see(running(stored(at(2))), { interruptions: true, node: node() });
    expect(verbs(nextStep(o, minutes(13)).actions)).toEqual(['annotate', 'say']);
  });

  test('a machine takes the notice of its own Node, and not of the Node of another VM', () => {
    const told = (providerID: string) =>
      see(running({}), {
        interruptions: true,
        node: node({ metadata: { annotations: stored(at(2)) }, spec: { providerID } }),
      });
    expect(verbs(nextStep(told('fakeID-0'), NOON).actions)).toEqual(['recordInterruption']);
    expect(verbs(nextStep(told('fakeID-1'), NOON).actions)).not.toContain('recordInterruption');
  });

  test('a machine takes a notice of its Node during its deletion', () => {
    const o = see(dying(terminating(T1)), {
      interruptions: true,
      node: node({ metadata: { annotations: stored(at(2)) } }),
    });
    expect(verbs(nextStep(o, NOON).actions)).toEqual(['recordInterruption']);
  });

  test.each<[what: string, annotations: Record<string, string>, now: Date]>([
    ['whose deadline passed long ago', stored(at(2)), minutes(13)],
    ['from before the machine', stored(at(2), at(-1)), NOON],
    ['that is malformed', { [Annotations.Interruption]: '{"kind":"Terminate"}' }, NOON],
  ])('a machine ignores a notice of its Node %s', (_, annotations, now) => {
    const o = see(running({}), { interruptions: true, node: node({ metadata: { annotations } }) });
    expect(verbs(nextStep(o, now).actions)).not.toContain('recordInterruption');
  });
});

describe('the drain of an interrupted machine', () => {
  const going = (deadline: string) => dying(terminating(T1), { annotations: stored(deadline) });
  const drain = look([pod('a')]);

  test('the drain waits for the successor while the notice leaves time, and then begins', () => {
    const o = see(going(at(30)), { interruptions: true, successor: 'awaited', drain });
    const early = planDeletion(o, minutes(1));
    expect(described(early.actions)).toBe(
      `Waiting: the replacement does not run yet, and the deadline has not passed. ${T1}`,
    );
    const begun = { ...o, machine: dying(terminating(T2), { annotations: stored(at(30)) }) };
    expect(described(planDeletion(begun, minutes(1)).actions)).toMatch(
      /the deadline has not passed\. Initiate node drain$/,
    );
    expect(verbs(planDeletion({ ...o, drain: { ...drain, forced: true } }, minutes(1)).actions)).toEqual([
      'deletePods',
    ]);
    expect(early.next).toEqual({ kind: 'waitUntil', instant: minutes(15) });
    expect(verbs(planDeletion(o, minutes(15)).actions)).toEqual(['evict']);
  });

  test('the drain begins when the successor runs', () => {
    const o = see(going(at(30)), { interruptions: true, successor: 'running', drain });
    expect(verbs(planDeletion(o, minutes(1)).actions)).toEqual(['evict']);
  });

  test('the drain begins at once after a short notice', () => {
    const o = see(going(at(2)), { interruptions: true, successor: 'awaited', drain });
    expect(verbs(planDeletion(o, NOON).actions)).toEqual(['evict']);
  });

  test('the drain of a machine with a short notice evicts all pods at once, the highest priority first', () => {
    const pods = [pod('low'), withVolume('v-low', { priority: 1 }), withVolume('v-high', { priority: 9 })];
    const names = (urgent: true | undefined) => planDrain(look(pods, { urgent }), NOON).evict.map(({ name }) => name);
    expect(names(true)).toEqual(['v-high', 'v-low', 'low']);
    expect(names(undefined)).toEqual(['low', 'v-high']);
  });
});

describe('the successor', () => {
  const member = (name: string, change: Partial<Machine['metadata']>, phase: 'Running' | 'Pending' | 'Terminating') =>
    machine({
      name,
      metadata: { ownerReferences: OWNER, ...change },
      status: { currentStatus: { phase } },
    });
  const leaving = (name: string, minute: number) =>
    member(name, { deletionTimestamp: at(minute), annotations: stored(at(60)) }, 'Terminating');
  const fresh = (name: string, minute: number) => member(name, { creationTimestamp: at(minute) }, 'Running');

  test('the drain waits until a machine of the set that was created later runs', () => {
    const old = leaving('old', 1);
    const pending = member('new', { creationTimestamp: at(2) }, 'Pending');
    expect(successorOf(old, [old, fresh('sibling', 0), pending])).toBe('awaited');
    expect(successorOf(old, [old, fresh('new', 2)])).toBe('running');
  });

  test('one new machine is the successor of the first of two interrupted machines only', () => {
    const [a, b] = [leaving('a', 1), leaving('b', 1)];
    const group = [a, b, fresh('new', 2)];
    expect([successorOf(a, group), successorOf(b, group)]).toEqual(['running', 'awaited']);
  });

  test('a machine without a set has no successor', () => {
    const alone = machine({ metadata: { deletionTimestamp: at(1), annotations: stored(at(60)) } });
    expect(interruptionOf(alone)).toBeDefined();
    expect(successorOf(alone, [alone])).toBeUndefined();
  });
});
