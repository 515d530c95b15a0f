import { Annotations } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { planDrain } from '../drain/drain.ts';
import { type DrainBudget, type DrainObservation, type DrainPod, NO_DRAIN_MEMORY } from '../drain/model/observation.ts';
import { budget, later, look, pod, withVolume } from '../drain/testing.ts';
import { machine } from '../machine/testing.ts';
import { undrainablePolicyOf } from './undrainable.ts';

const annotated = (value: string) => machine({ metadata: { annotations: { [Annotations.UndrainablePolicy]: value } } });

test('the annotation of the machine takes precedence over that of its class; the default is Force', () => {
  const ofClass = { metadata: { name: 'small', annotations: { [Annotations.UndrainablePolicy]: 'Hold' } } } as never;
  expect(undrainablePolicyOf(machine(), undefined)).toEqual({ policy: 'Force' });
  expect(undrainablePolicyOf(machine(), ofClass)).toEqual({ policy: 'Hold' });
  expect(undrainablePolicyOf(annotated('Quarantine'), ofClass)).toEqual({ policy: 'Quarantine' });
});

test('an invalid annotation deletes nothing and is reported with a hint', () => {
  expect(undrainablePolicyOf(annotated('force'), undefined)).toEqual({
    policy: 'Hold',
    problem: `annotation ${Annotations.UndrainablePolicy} of Machine machine-0 is "force", so mcm uses Hold; write one of Force, Quarantine, Hold, Fail`,
  });
  const ofClass = { metadata: { name: 'small', annotations: { [Annotations.UndrainablePolicy]: 'hold' } } } as never;
  expect(undrainablePolicyOf(machine(), ofClass).problem).toContain('of MachineClass small is "hold"');
});

const blocked = pod('db-0', { budgets: [budget()] });
const free = pod('web-0');

test('Hold: evictions continue after every deadline, nothing is deleted, and the status reports it', () => {
  const o = look([blocked, free], { policy: 'Hold' });
  const before = planDrain(o, later(-1, o.forceAt));
  expect(before).toMatchObject({ forced: false, remove: [], lookAgainAt: o.forceAt });
  expect(before.blockers).toHaveLength(1);
  const plan = planDrain(o, later(1, o.forceAt));
  expect(plan).toMatchObject({ drained: false, forced: false, remove: [], evict: [{ name: 'web-0' }] });
  expect(plan.blockers[0]).toMatchObject({
    text: 'drain timeout expired before pod default/db-0, default/web-0 ended; undrainable policy Hold continues to wait for the pod',
    failed: true,
  });
});

test('Hold: for an empty node no pods are reported, even while a volume is awaited', () => {
  const attachments = [{ name: 'va', volume: 'pv-db-0', deleting: false }];
  const o = look([], { policy: 'Hold', attachments });
  expect(planDrain(o, later(1, o.forceAt)).blockers.map(({ text }) => text)).toEqual([]);
});

test('Fail: after the timeout no pod is evicted, not even after a change of its budget, and nothing is deleted', () => {
  const o = look([blocked, free], { policy: 'Fail' });
  expect(planDrain(o, later(-1, o.forceAt)).evict).toMatchObject([{ name: 'web-0' }]);
  const plan = planDrain(o, o.forceAt);
  expect(plan).toMatchObject({ drained: false, forced: false, evict: [], remove: [], undrained: 'Fail' });
  expect([plan.lookAgainAt, plan.blockers[0]?.budgets]).toEqual([undefined, undefined]);
  expect(plan.blockers[0]?.text).toBe(
    'drain timeout expired before pod default/db-0, default/web-0 ended; undrainable policy Fail ends the drain and keeps the VM',
  );
  expect(planDrain({ ...o, pods: [] }, later(1, o.forceAt)).drained).toBe(true);
  expect(planDrain({ ...o, forced: true }, later(1, o.forceAt)).remove).toHaveLength(2);
});

test('Quarantine: after the timeout no pod is evicted any more, and there is no timer', () => {
  const o = look([blocked, free], { policy: 'Quarantine' });
  expect(planDrain(o, later(-1, o.forceAt)).evict).toMatchObject([{ name: 'web-0' }]);
  const attempt = { at: later(0), result: 'failed' as const, message: '', count: 1, budgets: '' };
  const memory = { ...NO_DRAIN_MEMORY, attempts: new Map([['uid-web-0', attempt]]) };
  const plan = planDrain({ ...o, memory }, o.forceAt);
  expect(plan).toMatchObject({ drained: false, forced: false, evict: [], remove: [] });
  expect(plan.lookAgainAt).toBeUndefined();
  expect(plan.blockers[0]?.text).toContain('undrainable policy Quarantine keeps the node cordoned until the pod ends');
  expect(planDrain({ ...o, pods: [] }, later(1, o.forceAt)).drained).toBe(true);
});

const refused = (...names: readonly string[]) => ({
  ...NO_DRAIN_MEMORY,
  attempts: new Map(
    names.map((name) => [
      `uid-${name}`,
      { at: later(0), result: 'blocked' as const, message: '', count: 1, budgets: 'default/web@7' },
    ]),
  ),
});

describe('Quarantine after the timeout', () => {
  const after = (pods: readonly DrainPod[], change: Partial<DrainObservation> = {}) => {
    const o = look(pods, { policy: 'Quarantine', memory: refused('db-0'), ...change });
    return planDrain(o, later(1, o.forceAt));
  };
  const evicted = (budgets: readonly DrainBudget[], change: Partial<DrainObservation> = {}) =>
    after([pod('db-0', { budgets })], change).evict.map(({ name }) => name);

  test('a pod is evicted again when its budget has changed and allows it', () => {
    expect(evicted([budget({ allowed: 1, resourceVersion: '8' })])).toEqual(['db-0']);
    expect(evicted([])).toEqual(['db-0']);
  });

  test('a pod is evicted once for each change, and not while a budget forbids it or is not evaluated', () => {
    expect(evicted([budget({ allowed: 1 })])).toEqual([]);
    expect(evicted([budget({ resourceVersion: '8' })])).toEqual([]);
    expect(evicted([budget({ allowed: 1, resourceVersion: '8', stale: true })])).toEqual([]);
    expect(after([pod('db-0', { dueAt: later(0) })]).evict).toEqual([]);
  });

  test('a process without a refusal evicts a pod once if its budget allows it', () => {
    expect(evicted([budget({ allowed: 1 })], { memory: NO_DRAIN_MEMORY })).toEqual(['db-0']);
    expect(evicted([], { memory: NO_DRAIN_MEMORY })).toEqual(['db-0']);
  });

  test('budgets wake it, and pods with volumes are evicted one at a time', () => {
    expect(after([blocked]).blockers.flatMap(({ budgets = [] }) => budgets)).toEqual(['default/web']);
    const open = { budgets: [budget({ allowed: 2, resourceVersion: '8' })] };
    const two = [
      withVolume('db-0', open),
      withVolume('db-1', open),
      withVolume('db-9', { priority: 9, budgets: [budget()] }),
    ];
    const memory = refused('db-0', 'db-1', 'db-9');
    const plan = after(two, { memory });
    expect(plan.evict.map(({ name }) => name)).toEqual(['db-0']);
    expect(plan.leaving.map(({ name }) => name)).toEqual(['db-1', 'db-9']);
    expect(plan.lookAgainAt).toBeUndefined();
  });

  test('a pod that waits for a place in the window is reconciled when the next place is free', () => {
    const open = { budgets: [budget({ allowed: 2, resourceVersion: '8' })] };
    const due = later(180 * 60_000);
    const move = { pod: pod('db-8'), volumes: ['pv-db-8'], returns: true };
    const memory = { ...refused('db-0'), moves: new Map([['uid-db-8', move]]) };
    const pods = [withVolume('db-0', open), withVolume('db-8', { dueAt: due })];
    const plan = after(pods, { memory });
    expect(plan).toMatchObject({ evict: [], lookAgainAt: later(2 * 60_000, due) });
    expect(after([pods[1] as DrainPod], { memory }).lookAgainAt).toBeUndefined();
  });
});

test('an annotation shows which policy keeps the VM after the timeout', () => {
  const reported = (policy: 'Force' | 'Quarantine' | 'Hold', ms: number, pods = [blocked]) => {
    const o = look(pods, { policy });
    return planDrain(o, later(ms, o.forceAt)).undrained;
  };
  expect([reported('Hold', 1), reported('Quarantine', 1)]).toEqual(['Hold', 'Quarantine']);
  expect([reported('Force', 1), reported('Hold', -1), reported('Quarantine', -1), reported('Hold', 1, [])]).toEqual(
    Array(4).fill(undefined),
  );
});

test.each(['Quarantine', 'Hold'] as const)('%s: force-deletion forces it at any moment', (policy) => {
  const plan = planDrain(look([blocked], { policy, forced: true }), later(1));
  expect(plan).toMatchObject({ forced: true, remove: [{ name: 'db-0' }] });
});
