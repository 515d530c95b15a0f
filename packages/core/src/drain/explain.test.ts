import { expect, test } from 'vitest';
import { planDrain } from './drain.ts';
import { explainDrain } from './explain.ts';
import { budget, later, look, pod, withVolume } from './testing.ts';

test('an explained drain: the order of pods, pods that stay, blockers and their hints', () => {
  const o = look([
    pod('agent', { ownerKind: 'DaemonSet' }),
    withVolume('low'),
    withVolume('high', { priority: 10 }),
    pod('web', {
      budgets: [budget({ misconfigured: true, rule: 'maxUnavailable: 0, 3 of 3 pods needed, 3 healthy' })],
    }),
    pod('job', { ownerKind: 'Job', localStorage: true }),
    pod('old', { dueAt: later(1_000) }),
  ]);
  const reported = explainDrain(o, later(0));
  expect(reported.pods.map(({ pod: name, fate }) => `${name} ${fate}`)).toEqual([
    'default/job evict',
    'default/old leaving',
    'default/web blocked',
    'default/high evict',
    'default/low turn',
    'default/agent stays',
  ]);
  expect(reported.blockers).toEqual([
    {
      text: 'error while evicting pod "default/web": pod disruption budget default/web is misconfigured and requires zero voluntary evictions',
      pods: ['default/web'],
      failed: true,
      hint: 'change budget default/web to allow a disruption (maxUnavailable: 0, 3 of 3 pods needed, 3 healthy)',
    },
  ]);
  expect(reported).toMatchObject({ node: 'fakeNode-0', policy: 'Force', deletesFrom: o.evictUntil, overAt: o.forceAt });
});

test('of two pods under a budget that allows one disruption, the second waits for its turn', () => {
  const budgets = [budget({ allowed: 1 })];
  const fates = (change: object) =>
    explainDrain(look([pod('a', { budgets }), pod('b', { budgets, ...change }), pod('c')]), later(0)).pods.map(
      ({ pod: name, fate, because }) => [name, fate, because],
    );
  const [first, second, free] = fates({});
  expect([first?.slice(0, 2), second, free?.slice(0, 2)]).toEqual([
    ['default/a', 'evict'],
    ['default/b', 'turn', 'pod disruption budget default/web allows 1 disruption at a time'],
    ['default/c', 'evict'],
  ]);
  for (const change of [{ ready: false }, { phase: 'Succeeded' }]) expect(fates(change)[1]?.[1]).toBe('evict');
});

test('the drain evicts pods in the order of its explanation, for each order of the cache', () => {
  const budgets = [budget({ allowed: 1 })];
  const pods = [pod('a', { budgets }), withVolume('c'), pod('b', { budgets, priority: 5 }), pod('d', { budgets })];
  for (const cached of [pods, pods.toReversed()]) {
    const o = look(cached);
    const explained = explainDrain(o, later(0)).pods;
    const evicted = planDrain(o, later(0)).evict.map(({ name }) => `default/${name}`);
    expect(evicted).toEqual(['default/b', 'default/a', 'default/d', 'default/c']);
    expect(explained.map(({ pod: name }) => name)).toEqual(evicted);
    expect(explained.find(({ fate }) => fate === 'evict')?.pod).toBe('default/b');
  }
});

test('a pod without a controller uses its budget forever, and the explanation names the pod', () => {
  const budgets = [budget({ allowed: 1 })];
  const [, second] = explainDrain(
    look([pod('a', { budgets, ownerKind: undefined }), pod('b', { budgets })]),
    later(0),
  ).pods;
  expect(second?.because).toBe(
    'pod disruption budget default/web allows 1 disruption at a time, and no controller starts pod default/a again',
  );
});

test('the explanation equals the actions', () => {
  const o = look([pod('a'), withVolume('b'), withVolume('c'), pod('d', { budgets: [budget()] })]);
  const evicted = explainDrain(o, later(0)).pods.filter(({ fate }) => fate === 'evict');
  expect(evicted.map(({ pod: name }) => name).sort()).toEqual(
    planDrain(o, later(0))
      .evict.map(({ namespace, name }) => `${namespace}/${name}`)
      .sort(),
  );
});

test('volumes of pods that are gone are listed, and that others wait for them', () => {
  const o = look([withVolume('b')], { attachments: [{ name: 'va', volume: 'pv-a', deleting: true }] });
  expect(explainDrain(o, later(0))).toMatchObject({ pods: [{ fate: 'evict' }] });
  expect(explainDrain(o, later(0), ['pv-a'])).toMatchObject({ pods: [{ fate: 'turn' }], detaching: ['pv-a'] });
});

test('a terminating pod shows the expected end, and when it counts as one that does not terminate', () => {
  const [old] = explainDrain(look([pod('old', { dueAt: later(5_000) })]), later(0)).pods;
  expect(old).toMatchObject({ fate: 'leaving', ends: { by: later(5_000), overdueFrom: later(35_000) } });
});
