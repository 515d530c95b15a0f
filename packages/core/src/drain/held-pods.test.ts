import { describe, expect, test } from 'vitest';
import { NOON } from '../machine/testing.ts';
import { forcedKey, planDrain } from './drain.ts';
import type { Attempt, DrainMemory, DrainPod } from './model/observation.ts';
import { budget, later, look, MINUTE, pod, withVolume } from './testing.ts';

const second = 1_000;
const minute = MINUTE;

const names = (pods: readonly DrainPod[]): string[] => pods.map(({ name }) => name);

const attempt = (change: Partial<Attempt> = {}): Attempt => ({
  at: NOON,
  result: 'blocked',
  message: 'Cannot evict pod',
  count: 1,
  budgets: 'default/web@7',
  ...change,
});

const remember = (attempts: Record<string, Attempt>): DrainMemory => ({
  attempts: new Map(Object.entries(attempts)),
  moves: new Map(),
});

test('pods that cannot be read are not drained, and only the label forces the drain', () => {
  const unseen = { pods: 'this process does not have the permission to list pods' };
  const o = look([], { unseen });
  const plan = planDrain(o, later(1, o.forceAt));
  expect(plan).toMatchObject({ drained: false, forced: false, evict: [], remove: [], leaving: [], leftAttached: [] });
  expect(plan.blockers).toMatchObject([{ text: `the pods of the node cannot be read: ${unseen.pods}`, failed: true }]);
  expect(plan.blockers[0]?.pods).toBeUndefined();
  expect(planDrain(look([pod('a')], { unseen, forced: true }), NOON)).toMatchObject({
    forced: true,
    remove: [{ name: 'a' }],
  });
});

test('an empty node is not drained while the watch of pods is interrupted, until the drain timeout', () => {
  const o = look([], { podsUnproven: true });
  expect(planDrain(o, NOON)).toMatchObject({ drained: false, awaitsWatch: true, lookAgainAt: later(second) });
  expect(planDrain(o, later(1, o.forceAt))).toMatchObject({ drained: true });
  expect(planDrain(look([], { podsUnproven: true, policy: 'Hold' }), o.forceAt)).toMatchObject({ drained: true });
  const seen = planDrain(look([pod('a')], { podsUnproven: true }), NOON);
  expect([names(seen.evict), seen.awaitsWatch]).toEqual([['a'], undefined]);
});

test('a pod whose volumes cannot be read is not evicted, and is reported; the others are evicted', () => {
  const unseen = { volumes: 'this process does not have the permission to list persistentvolumes' };
  const plan = planDrain(look([withVolume('db'), pod('web')], { unseen }), NOON);
  expect([names(plan.evict), names(plan.leaving)]).toEqual([['web'], ['db']]);
  expect(plan.blockers).toMatchObject([{ pods: ['default/db'] }]);
});

test('a terminating pod, or one that waits for its turn, is not evicted again, and counts as leaving', () => {
  const pods = [pod('old', { dueAt: later(minute) }), withVolume('a'), withVolume('b'), pod('web')];
  const plan = planDrain(look(pods), NOON);
  expect([names(plan.evict), names(plan.leaving)]).toEqual([
    ['web', 'a'],
    ['old', 'b'],
  ]);
});

test('moving volumes are reported as soon as one pod waits for its turn', () => {
  const move = { pod: pod('x'), volumes: ['pv-x'], returns: true, goneAt: NOON };
  const memory = { ...remember({}), moves: new Map([['uid-x', move]]) };
  const attachments = [{ name: 'va', volume: 'pv-x', deleting: false }];
  const plan = planDrain(look([withVolume('a'), pod('web')], { memory, attachments }), later(minute));
  expect(plan.blockers.map(({ text }) => text)).toEqual([expect.stringContaining('volume pv-x of pod default/x')]);
});

test('without anything to wait for and without a deadline there is no timer', () => {
  const unseen = { volumes: 'this process does not have the permission to list persistentvolumes' };
  const o = look([], { unseen, policy: 'Hold' });
  expect(planDrain(o, o.forceAt).lookAgainAt).toBeUndefined();
});

test('a failed eviction waits for its own time, with any budgets', () => {
  const failed = attempt({ result: 'failed', budgets: 'default/web@6' });
  const o = look([pod('a', { budgets: [budget({ allowed: 1 })] })], { memory: remember({ 'uid-a': failed }) });
  expect(planDrain(o, later(4 * second))).toMatchObject({ evict: [], lookAgainAt: later(5 * second) });
  expect(names(planDrain(o, later(5 * second)).evict)).toEqual(['a']);
});

test('a budget whose new spec was not evaluated yet causes no immediate retry', () => {
  const refused = remember({ 'uid-a': attempt({ budgets: 'default/web@6' }) });
  const at = (stale: boolean) => {
    const budgets = [budget({ allowed: 1, stale })];
    return names(planDrain(look([pod('a', { budgets })], { memory: refused }), later(second)).evict);
  };
  expect([at(true), at(false)]).toEqual([[], ['a']]);
});

test('a pod whose budget was deleted is evicted again at once', () => {
  const o = look([pod('a')], { memory: remember({ 'uid-a': attempt() }) });
  expect(names(planDrain(o, later(second)).evict)).toEqual(['a']);
});

test('after the eviction timeout a pod is deleted without grace, and again if it has not ended or the deletion failed', () => {
  const plan = (result: Attempt['result'] | undefined, ms: number) => {
    const o = look([pod('a')], {
      memory: remember(result ? { [forcedKey(pod('a'))]: attempt({ at: later(60 * minute), result }) } : {}),
    });
    return planDrain(o, later(60 * minute + ms));
  };
  expect(names(plan(undefined, 0).remove)).toEqual(['a']);
  expect(plan('asked', 29 * second)).toMatchObject({
    remove: [],
    blockers: [],
    lookAgainAt: later(60 * minute + 30 * second),
  });
  expect(names(plan('asked', 30 * second).remove)).toEqual(['a']);
  expect(plan('failed', 4 * second)).toMatchObject({
    remove: [],
    blockers: [{ text: 'error when deleting pod "default/a": Cannot evict pod', failed: true, pods: ['default/a'] }],
    lookAgainAt: later(60 * minute + 5 * second),
  });
  expect(names(plan('failed', 5 * second).remove)).toEqual(['a']);
});

test.each<[pods: number, left: string]>([
  [3, 'default/p0, default/p1, default/p2'],
  [4, 'default/p0, default/p1, default/p2 and 1 more'],
])('a held drain names three of %i pods that are left', (count, left) => {
  const pods = Array.from({ length: count }, (_, i) => pod(`p${i}`));
  const plan = planDrain(look(pods, { policy: 'Quarantine' }), later(120 * minute));
  expect(plan.blockers[0]?.text).toContain(`drain timeout expired before pod ${left} ended;`);
  expect(plan.blockers[0]?.pods).toHaveLength(count);
  expect(plan.blockers[0]?.budgets).toBeUndefined();
});

test('a refusal names the budget in the cache, or else is reported as temporary', () => {
  const text = (budgets: DrainPod['budgets']) => {
    const o = look([pod('a', { budgets })], {
      memory: remember({ 'uid-a': attempt({ budgets: budgets.length > 0 ? 'default/web@7' : '' }) }),
    });
    return planDrain(o, later(second)).blockers;
  };
  expect(text([budget({ allowed: 1 })])).toMatchObject([
    {
      text: 'pod default/a waits for pod disruption budget default/web, which allows no disruption now',
      failed: false,
      budgets: ['default/web'],
    },
  ]);
  expect(text([])).toMatchObject([
    { text: 'pod default/a waits: the API server refuses its eviction for now', failed: false },
  ]);
});

test.each<[what: string, change: Partial<ReturnType<typeof budget>>, pods: string[]]>([
  ['one that can never allow a disruption', { misconfigured: true }, []],
  ['one that allows nothing now', {}, []],
  ['one that allows nothing, and was not evaluated yet', { stale: true }, ['a', 'b']],
  ['one that allows evicting unready pods', { sparesUnready: true, misconfigured: true }, ['b']],
  ['one that also protects unready pods', { sparesUnready: false, misconfigured: true, allowed: 1 }, []],
])('a budget holds a ready pod and one that is not: %s', (_what, change, evicted) => {
  const given = budget({ sparesUnready: false, ...change });
  const pods = [pod('a', { budgets: [given] }), pod('b', { ready: false, budgets: [given] })];
  const plan = planDrain(look(pods), NOON);
  expect(names(plan.evict)).toEqual(evicted);
  for (const { budgets } of plan.blockers) expect(budgets).toEqual(['default/web']);
});

test.each(['Succeeded', 'Failed', 'Pending'])('a budget does not hold a pod that is %s', (phase) => {
  const budgets = [budget({ misconfigured: true })];
  expect(names(planDrain(look([pod('a', { phase, budgets })]), NOON).evict)).toEqual(['a']);
});

const READ = { volumes: 'this process does not have the permission to list persistentvolumes' };

test.each<[policy: 'Hold' | undefined, minutes: number, again: number | undefined]>([
  [undefined, 0, 60],
  ['Hold', 0, 120],
  ['Hold', 60, 120],
  ['Hold', 120, undefined],
])('with policy %s after %d minutes, the next deadline starts a pass', (policy, minutes, again) => {
  const o = look([withVolume('a')], { unseen: READ, ...(policy ? { policy } : {}) });
  const { lookAgainAt } = planDrain(o, later(minutes * minute));
  expect(lookAgainAt).toEqual(again === undefined ? undefined : later(again * minute));
});

test('with policy Hold no timeout deletes a pod, and the machine says so after the drain timeout', () => {
  const pods = [pod('web'), pod('old', { dueAt: later(0) })];
  const o = look(pods, { policy: 'Hold', memory: remember({ 'uid-web': attempt({ budgets: '' }) }) });
  for (const at of [o.evictUntil, later(-1, o.forceAt)])
    expect(planDrain(o, at)).toMatchObject({ evict: [{ name: 'web' }], remove: [], undrained: undefined });
  const late = planDrain(o, o.forceAt);
  expect(late).toMatchObject({ forced: false, evict: [{ name: 'web' }], remove: [], undrained: 'Hold' });
  expect(late.blockers.map(({ text }) => text)).toEqual([
    'drain timeout expired before pod default/web, default/old ended; undrainable policy Hold continues to wait for the pod',
    'pod default/old does not terminate',
  ]);
  expect(planDrain(look([], { policy: 'Hold' }), o.forceAt)).toMatchObject({ drained: true, undrained: undefined });
});

describe('with policy Quarantine after the drain timeout', () => {
  const at = later(120 * minute);
  const allowing = budget({ allowed: 1 });
  const quarantined = (pods: readonly DrainPod[], change: Parameters<typeof look>[1] = {}) =>
    planDrain(look(pods, { policy: 'Quarantine', ...change }), at);

  test('a node without pods is drained, and before the timeout the drain is an ordinary one', () => {
    expect(quarantined([])).toMatchObject({ drained: true, undrained: undefined });
    const early = planDrain(look([pod('a')], { policy: 'Quarantine' }), later(-1, at));
    expect(early).toMatchObject({ evict: [{ name: 'a' }], undrained: undefined });
  });

  const tried = (budgets: string) => remember({ 'uid-a': attempt({ budgets }) });
  test.each<[what: string, change: Partial<DrainPod>, more: Parameters<typeof look>[1], evicted: boolean]>([
    ['this process has never tried it', { budgets: [allowing] }, {}, true],
    ['this process has never tried it, and its budget was deleted', {}, {}, true],
    ['its budget has changed', { budgets: [allowing] }, { memory: tried('default/web@6') }, true],
    ['its budget was deleted', {}, { memory: tried('default/web@7') }, true],
    ['its budget has not changed', { budgets: [allowing] }, { memory: tried('default/web@7') }, false],
    ['it has no budget and was refused', {}, { memory: tried('') }, false],
    ['its budget allows nothing', { budgets: [budget()] }, {}, false],
    [
      'one of its budgets was not evaluated yet',
      { phase: 'Pending', budgets: [budget({ stale: true }), allowing] },
      {},
      false,
    ],
    ['it is terminating', { dueAt: later(minute) }, {}, false],
    ['its volumes cannot be read', { hasClaims: true }, { unseen: READ }, false],
  ])('a pod is evicted again, or not: %s', (_what, change, more, evicted) => {
    const plan = quarantined([pod('a', change)], more);
    expect(plan).toMatchObject({ drained: false, forced: false, remove: [], undrained: 'Quarantine' });
    expect([names(plan.evict), names(plan.leaving)]).toEqual(evicted ? [['a'], []] : [[], ['a']]);
  });

  test('volumes move one after the other, and a blocked pod takes no turn', () => {
    const pods = [
      withVolume('high', { priority: 9, budgets: [budget()] }),
      withVolume('b'),
      withVolume('c'),
      pod('web'),
    ];
    const plan = quarantined(pods);
    expect([names(plan.evict), names(plan.leaving)]).toEqual([
      ['b', 'web'],
      ['high', 'c'],
    ]);
  });

  test('a released pod waits for the volumes of a terminating one, at most until the detach timeout', () => {
    const old = withVolume('old', { dueAt: later(minute, at) });
    const move = { pod: old, volumes: old.volumes, returns: true };
    const memory = { ...remember({}), moves: new Map([[old.uid, move]]) };
    const plan = (now: Date) => planDrain(look([old, withVolume('a')], { policy: 'Quarantine', memory }), now);
    expect(plan(at)).toMatchObject({ evict: [], lookAgainAt: later(3 * minute, at) });
    expect(names(plan(later(3 * minute, at)).evict)).toEqual(['a']);
    const web = planDrain(look([old, pod('web')], { policy: 'Quarantine', memory }), at);
    expect([names(web.evict), web.lookAgainAt]).toEqual([['web'], undefined]);
  });
});

test.each<[what: string, change: Parameters<typeof look>[1], because: string]>([
  ['a label', { forced: true }, 'because of label force-deletion=true'],
  ['an interruption', { interrupted: true }, 'because the cloud is ending the VM'],
  ['a node without a kubelet', { unresponsive: true }, 'because the node is unreachable'],
  ['the timeout', {}, 'because the drain timeout expired'],
])('a forced drain says why it deletes pods: %s', (_what, change, because) => {
  const plan = planDrain(look([pod('a')], change), later(120 * minute));
  expect([names(plan.remove), plan.removeBecause]).toEqual([['a'], because]);
});

test('a pod that is deleted after the eviction timeout is deleted because of it', () => {
  expect(planDrain(look([pod('a')]), later(60 * minute)).removeBecause).toBe(
    'because the eviction timeout expired (maxEvictRetries, drainTimeout)',
  );
});

test('every pod that waits counts as leaving', () => {
  const attempts = {
    'uid-asked': attempt({ result: 'asked' }),
    'uid-refused': attempt({ budgets: '' }),
  };
  const pods = [
    pod('asked'),
    pod('refused'),
    pod('held', { budgets: [budget()] }),
    pod('ends', { dueAt: later(minute) }),
    pod('stays', { dueAt: later(-minute) }),
  ];
  const plan = planDrain(look(pods, { memory: remember(attempts) }), later(second));
  expect([names(plan.evict), names(plan.leaving)]).toEqual([[], ['asked', 'refused', 'held', 'ends', 'stays']]);
  const deleted = remember({ [forcedKey(pod('a'))]: attempt({ at: later(60 * minute), result: 'asked' }) });
  expect(names(planDrain(look([pod('a')], { memory: deleted }), later(60 * minute)).leaving)).toEqual(['a']);
});
