import { Annotations } from '@mcm/api';
import { expect, test } from 'vitest';
import { machine } from '../machine/testing.ts';
import { planDrain } from './drain.ts';
import { budget, later, look, pod } from './testing.ts';
import { undrainablePolicyOf } from './undrainable.ts';

const annotated = (value: string) => machine({ metadata: { annotations: { [Annotations.UndrainablePolicy]: value } } });

test('the machine says what becomes of it, then its class, then Force', () => {
  const ofClass = { metadata: { name: 'small', annotations: { [Annotations.UndrainablePolicy]: 'Hold' } } } as never;
  expect(undrainablePolicyOf(machine(), undefined)).toEqual({ policy: 'Force' });
  expect(undrainablePolicyOf(machine(), ofClass)).toEqual({ policy: 'Hold' });
  expect(undrainablePolicyOf(annotated('Quarantine'), ofClass)).toEqual({ policy: 'Quarantine' });
});

test('rubbish in the annotation destroys nothing and is named with its cure', () => {
  expect(undrainablePolicyOf(annotated('force'), undefined)).toEqual({
    policy: 'Hold',
    problem: `annotation ${Annotations.UndrainablePolicy} of Machine machine-0 is "force"; it counts as Hold until it is one of Force, Quarantine, Hold`,
  });
});

const blocked = pod('db-0', { budgets: [budget()] });
const free = pod('web-0');

test('Hold: evicting goes on beyond every deadline, nothing is deleted, and the status says so', () => {
  const o = look([blocked, free], { policy: 'Hold' });
  const before = planDrain(o, later(-1, o.forceAt));
  expect(before).toMatchObject({ forced: false, remove: [], lookAgainAt: o.forceAt });
  expect(before.blockers).toHaveLength(1);
  const plan = planDrain(o, later(1, o.forceAt));
  expect(plan).toMatchObject({ drained: false, forced: false, remove: [], evict: [{ name: 'web-0' }] });
  expect(plan.blockers[0]).toMatchObject({
    text: 'time to drain is over with pod default/db-0, default/web-0 left; undrainable policy Hold keeps waiting for it',
    failed: true,
  });
});

test('Hold: of a node that is empty nothing is said to be left, though a volume is still waited for', () => {
  const attachments = [{ name: 'va', volume: 'pv-db-0', deleting: false }];
  const o = look([], { policy: 'Hold', attachments });
  expect(planDrain(o, later(1, o.forceAt)).blockers.map(({ text }) => text)).toEqual([]);
});

test('Quarantine: once the time is over nobody is asked to go any more, and no timer looks again', () => {
  const o = look([blocked, free], { policy: 'Quarantine' });
  expect(planDrain(o, later(-1, o.forceAt)).evict).toMatchObject([{ name: 'web-0' }]);
  const plan = planDrain(o, o.forceAt);
  expect(plan).toMatchObject({ drained: false, forced: false, evict: [], remove: [] });
  expect(plan.lookAgainAt).toBeUndefined();
  expect(plan.blockers[0]?.text).toContain('undrainable policy Quarantine keeps the node cordoned until it has ended');
  expect(planDrain({ ...o, pods: [] }, later(1, o.forceAt)).drained).toBe(true);
});

test.each(['Quarantine', 'Hold'] as const)('%s: force-deletion forces it at any moment', (policy) => {
  const plan = planDrain(look([blocked], { policy, forced: true }), later(1));
  expect(plan).toMatchObject({ forced: true, remove: [{ name: 'db-0' }] });
});
