import type { PodDisruptionBudget } from '@mcm/kube';
import { expect, test } from 'vitest';
import { NOON } from '../machine/testing.ts';
import { forcedKey, planDrain } from './drain.ts';
import { isMisconfigured } from './model/budgets.ts';
import type { Attempt, DrainMemory, DrainPod } from './model/observation.ts';
import { playDrain } from './play.ts';
import { budget, later, look, MINUTE, pod, withVolume } from './testing.ts';

const second = 1_000;
const minute = MINUTE;

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

const names = (pods: readonly DrainPod[]): string[] => pods.map(({ name }) => name);

test('a node without pods is drained', () => {
  expect(planDrain(look([]), NOON)).toMatchObject({ drained: true, forced: false, blockers: [] });
});

test('a node without visible pods and with unreadable volumes is not drained', () => {
  const unseen = { volumes: 'this process does not have the permission to list persistentvolumes' };
  const plan = planDrain(look([], { unseen }), NOON);
  expect(plan.drained).toBe(false);
  expect(plan.blockers).toMatchObject([{ text: `the pods of the node cannot be read: ${unseen.volumes}` }]);
});

test('mirror and DaemonSet pods stay; completed and bare ones are evicted [S-DR15]', () => {
  const { ownerKind: _, ...bare } = pod('bare');
  const plan = planDrain(
    look([
      pod('mirror', { mirror: true }),
      pod('ds', { ownerKind: 'DaemonSet' }),
      pod('done', { phase: 'Succeeded' }),
      bare,
    ]),
    NOON,
  );
  expect(names(plan.evict)).toEqual(['bare', 'done']);
  expect(plan.drained).toBe(false);
});

test('all pods without volumes are evicted at once [S-DR1]', () => {
  const pods = Array.from({ length: 10 }, (_, i) => pod(`p${i}`));
  expect(planDrain(look(pods), NOON).evict).toHaveLength(10);
});

test('pods with volumes are evicted by priority, one at a time [S-DR16]', () => {
  const pods = [
    withVolume('low'),
    withVolume('high', { priority: 1000 }),
    withVolume('middle', { priority: 10 }),
    pod('none'),
  ];
  expect(names(planDrain(look(pods), NOON).evict)).toEqual(['none', 'high']);
});

test('the next pod with a volume is evicted when the previous one has its volume elsewhere [S-DR5]', () => {
  const { order, tookMs } = playDrain([withVolume('a'), withVolume('b')], {
    graceMs: 5_000,
    detachMs: 5_000,
    attachMs: 5_000,
  });
  expect(order).toEqual(['a', 'b']);
  expect(tookMs).toBe(25_000);
});

test.each([
  // An adaptive drain evicts one pod at 0 s, one at 10 s, two at 20 s, and three at 30 s.
  ['fast', 5 * second, (6 * 20 + 10) * second, 40 * second],
  // Only one pod moves at a time, so this drain takes as long as a serial drain.
  ['slowly', 90 * second, (6 * 105 + 95) * second, (6 * 105 + 95) * second],
])(
  'seven pods whose volumes are detached %s are evicted in their own time [incident 22]',
  (_pace, detachMs, serial, adaptive) => {
    const pods = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => withVolume(name));
    const times = { graceMs: 5 * second, detachMs, attachMs: 10 * second };
    expect(playDrain(pods, times, 1).tookMs).toBe(serial);
    expect(playDrain(pods, times, 5).tookMs).toBe(adaptive);
  },
);

test('a volume that is never attached again costs at most the re-attach timeout [S-DR3]', () => {
  const { tookMs } = playDrain([withVolume('a'), withVolume('b')], {
    graceMs: 1_000,
    detachMs: 1_000,
    attachMs: 10 * minute,
  });
  expect(tookMs).toBe((2 + 90 + 2) * second);
});

test('a bare pod with a volume does not return, so the drain does not wait for it', () => {
  const bare = (name: string): DrainPod => {
    const { ownerKind: _, ...rest } = withVolume(name);
    return rest;
  };
  expect(playDrain([bare('a'), bare('b')], { graceMs: 1_000, detachMs: 1_000, attachMs: 10 * minute }).tookMs).toBe(
    4_000,
  );
});

test('a volume that is never detached delays a drain at most by the detach timeout', () => {
  const { tookMs } = playDrain([withVolume('a')], { graceMs: 1_000, detachMs: 60 * minute, attachMs: 0 });
  expect(tookMs).toBe(121_000);
});

test('pods that share a volume do not wait for each other [S-DR7]', () => {
  const sharing = (name: string): DrainPod => pod(name, { hasClaims: true });
  expect(names(planDrain(look([sharing('a'), sharing('b')]), NOON).evict)).toEqual(['a', 'b']);
});

test('a forced drain deletes every pod once, and does not wait [S-DR10]', () => {
  const pods = [withVolume('a'), pod('b', { dueAt: later(minute) }), pod('c', { budgets: [budget()] })];
  const plan = planDrain(look(pods, { forced: true }), NOON);
  expect(names(plan.remove)).toEqual(['a', 'b', 'c']);
  expect(plan.drained).toBe(false);
  const asked = remember(Object.fromEntries(pods.map((p) => [forcedKey(p), attempt({ result: 'failed' })])));
  expect(planDrain(look(pods, { forced: true, memory: asked }), NOON)).toMatchObject({
    drained: true,
    forced: true,
    remove: [],
    leaving: [],
    blockers: [],
    leftAttached: [],
  });
  const because = (forcedBy?: string) =>
    planDrain(look(pods, { forced: true, ...(forcedBy && { forcedBy }) }), NOON).removeBecause;
  expect([because(), because('force-drain=True')]).toEqual([
    'because of label force-deletion=true',
    'because of label force-drain=True',
  ]);
});

test('the drain is forced exactly at its deadline', () => {
  const o = look([pod('a', { dueAt: later(minute) })]);
  expect(planDrain(o, later(-1, o.forceAt)).forced).toBe(false);
  expect(planDrain(o, o.forceAt).forced).toBe(true);
});

test('a budget that allows nothing is reported by name, without a request to the server', () => {
  const plan = planDrain(look([pod('web-1', { budgets: [budget()] })]), NOON);
  expect(plan.evict).toEqual([]);
  expect(plan.blockers).toEqual([
    {
      text: 'pod default/web-1 waits for pod disruption budget default/web, which allows no disruption now',
      failed: false,
      budgets: ['default/web'],
      pods: ['default/web-1'],
      hint: 'increase the number of healthy pods that budget default/web selects',
    },
  ]);
  expect(plan.lookAgainAt).toEqual(later(120 * second));
});

test.each<[title: string, change: Partial<DrainPod>]>([
  ['the budget allows one', { budgets: [budget({ allowed: 1 })] }],
  ['the budget was not evaluated yet: the server decides', { budgets: [budget({ stale: true })] }],
  ['the pod is not ready, and the budget allows evicting such pods', { ready: false, budgets: [budget()] }],
  ['the pod never started', { phase: 'Pending', budgets: [budget()] }],
])('an eviction is tried when %s', (_title, change) => {
  expect(names(planDrain(look([pod('a', change)]), NOON).evict)).toEqual(['a']);
});

test('a misconfigured budget is reported before it blocks [S-DR17]', () => {
  const plan = planDrain(look([pod('a', { budgets: [budget({ misconfigured: true })] })]), NOON);
  expect(plan.blockers[0]).toMatchObject({
    text: 'error while evicting pod "default/a": pod disruption budget default/web is misconfigured and requires zero voluntary evictions',
    failed: true,
  });
});

test('a refused eviction is retried after 20 s, with growing waits, and at once after a change of the budget [S-DR13]', () => {
  const p = pod('a', { budgets: [budget({ allowed: 1 })] });
  const refused = (count: number) => look([p], { memory: remember({ [p.uid]: attempt({ count }) }) });
  expect(planDrain(refused(1), later(19 * second)).evict).toEqual([]);
  expect(names(planDrain(refused(1), later(20 * second)).evict)).toEqual(['a']);
  expect(planDrain(refused(3), later(79 * second)).evict).toEqual([]);
  expect(names(planDrain(refused(3), later(80 * second)).evict)).toEqual(['a']);
  const asked = look([p], { memory: remember({ [p.uid]: attempt({ retryAfterMs: minute }) }) });
  expect(planDrain(asked, later(minute - 1)).evict).toEqual([]);
  expect(names(planDrain(asked, later(minute)).evict)).toEqual(['a']);
  expect(planDrain(refused(9), later(120 * second)).evict).toHaveLength(1);
  const changed = pod('a', { budgets: [budget({ allowed: 1, resourceVersion: '8' })] });
  expect(names(planDrain({ ...refused(5), pods: [changed] }, later(second)).evict)).toEqual(['a']);
});

test('after the eviction timeout the pod is deleted without grace, with any budget [S-DR13]', () => {
  const o = look([pod('a', { budgets: [budget()] }), pod('late', { dueAt: later(0) })]);
  expect(names(planDrain(o, o.evictUntil).remove)).toEqual(['a', 'late']);
});

test('an eviction with another error is reported and retried after 5 s [S-DR14]', () => {
  const o = look([pod('a')], {
    memory: remember({ 'uid-a': attempt({ result: 'failed', message: 'boom', budgets: '' }) }),
  });
  const plan = planDrain(o, later(second));
  expect(plan.blockers).toMatchObject([{ text: 'error when evicting pod "default/a": boom', failed: true }]);
  expect(plan.lookAgainAt).toEqual(later(5 * second));
  expect(names(planDrain(o, later(5 * second)).evict)).toEqual(['a']);
});

test('an evicted pod is not evicted again before the watch shows its deletion', () => {
  const o = look([pod('a')], { memory: remember({ 'uid-a': attempt({ result: 'asked' }) }) });
  expect(planDrain(o, later(second))).toMatchObject({ evict: [], lookAgainAt: later(30 * second) });
});

test('an evicted pod without a visible deletion is evicted again after half a minute', () => {
  const o = look([pod('a')], { memory: remember({ 'uid-a': attempt({ result: 'asked' }) }) });
  expect(planDrain(o, later(30 * second - 1)).evict).toEqual([]);
  expect(names(planDrain(o, later(30 * second)).evict)).toEqual(['a']);
  const often = look([pod('a')], { memory: remember({ 'uid-a': attempt({ result: 'asked', count: 3 }) }) });
  expect(names(planDrain(often, later(30 * second)).evict)).toEqual(['a']);
});

test('a pod that exceeds its grace period by 30 s is reported', () => {
  const o = look([pod('a', { dueAt: later(10 * second) })]);
  expect(planDrain(o, later(39 * second))).toMatchObject({ blockers: [], lookAgainAt: later(40 * second) });
  expect(planDrain(o, later(40 * second)).blockers).toMatchObject([
    { text: 'pod default/a does not terminate', failed: false },
  ]);
});

test("a DaemonSet pod's volume is not waited for", () => {
  const o = look([withVolume('ds', { ownerKind: 'DaemonSet' })], {
    attachments: [{ volume: 'pv-ds', name: 'va', deleting: false }],
  });
  expect(planDrain(o, NOON).drained).toBe(true);
});

const pdb = (
  expected: number,
  healthy: number,
  allowed: number,
  disrupted: Record<string, string> = {},
  observed = 1,
): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'web', namespace: 'default', uid: 'u', resourceVersion: '1', generation: 1, creationTimestamp: '' },
  spec: {},
  status: Object.assign(
    { expectedPods: expected, currentHealthy: healthy, disruptionsAllowed: allowed, observedGeneration: observed },
    { disruptedPods: disrupted },
  ),
});

test.each<[row: string, budget: PodDisruptionBudget, misconfigured: boolean]>([
  ['S-PD1 3/3/1/0', pdb(3, 3, 1), false],
  ['S-PD2 3/3/0/{pod-a}', pdb(3, 3, 0, { 'pod-a': 't' }), false],
  ['S-PD3 3/2/0/{pod-a}', pdb(3, 2, 0, { 'pod-a': 't' }), false],
  ['S-PD4 3/3/0/0', pdb(3, 3, 0), true],
  ['S-PD5 3/2/-1/0', pdb(3, 2, -1), false],
  ['S-PD6 another generation', pdb(3, 3, 0, {}, 0), false],
  ['S-PD7 0/0/0/0', pdb(0, 0, 0), false],
  ['a single pod, which it needs', pdb(1, 1, 0), true],
])('budget misconfigured? %s', (_row, given, misconfigured) => {
  expect(isMisconfigured(given)).toBe(misconfigured);
});

const needing = (desired: number, healthy = 3): PodDisruptionBudget => {
  const base = pdb(3, healthy, 0);
  return { ...base, status: { ...base.status, desiredHealthy: desired } };
};

test.each<[rule: string, budget: PodDisruptionBudget, misconfigured: boolean]>([
  ['maxUnavailable 0 with an unhealthy pod: it still needs all pods', needing(3, 2), true],
  ['minAvailable above the number of pods', needing(5), true],
  ['one may be evicted when the third is healthy', needing(2, 2), false],
])('a budget that can never allow a disruption is known by what it needs: %s', (_rule, given, misconfigured) => {
  expect(isMisconfigured(given)).toBe(misconfigured);
});

test('two budgets of a pod are reported without a request, which the server would answer with 500', () => {
  const two = [budget({ allowed: 1 }), budget({ key: 'default/all', allowed: 1 })];
  const plan = planDrain(look([pod('a', { budgets: two })]), NOON);
  expect(plan.evict).toEqual([]);
  expect(plan.blockers).toMatchObject([
    {
      text: 'error while evicting pod "default/a": pod disruption budgets default/all and default/web both select it, so the API server refuses the eviction',
      failed: true,
      budgets: ['default/all', 'default/web'],
    },
  ]);
  const ended = pod('a', { phase: 'Succeeded', budgets: two });
  expect(names(planDrain(look([ended]), NOON).evict)).toEqual(['a']);
});

test('a pod in a namespace that is being deleted is awaited by name, and is no failure', () => {
  const o = look([pod('a')], {
    memory: remember({ 'uid-a': attempt({ result: 'namespaceEnds', message: 'forbidden', budgets: '' }) }),
  });
  const plan = planDrain(o, later(second));
  expect(plan.blockers).toMatchObject([
    { text: 'pod default/a waits for the deletion of its namespace', failed: false },
  ]);
  expect(plan.lookAgainAt).toEqual(later(20 * second));
  expect(names(planDrain(o, o.evictUntil).remove)).toEqual(['a']);
});

test('a budget without a healthy pod is reported as such', () => {
  const given = budget({ nothingHealthy: true, sparesUnready: false });
  const plan = planDrain(look([pod('a', { ready: false, budgets: [given] })]), NOON);
  expect(plan.blockers).toMatchObject([
    {
      text: 'pod default/a waits for pod disruption budget default/web, which has no healthy pod',
      failed: false,
      budgets: ['default/web'],
    },
  ]);
});
