import { expect, test } from 'vitest';
import { planDrain } from './drain.ts';
import { explainDrain } from './explain.ts';
import type { DrainPod, PodRule } from './model/observation.ts';
import { inOrder } from './model/rules.ts';
import { later, look, MINUTE, pod, withVolume } from './testing.ts';

const ordered = (order: number): { readonly rule: PodRule } => ({ rule: { name: 'order', behavior: 'Drain', order } });
const ruled = (behavior: PodRule['behavior']): { readonly rule: PodRule } => ({
  rule: { name: 'r', behavior, order: 0 },
});

const plan = (pods: readonly DrainPod[], ms = 0) => planDrain(look(inOrder(pods)), later(ms));
const names = (pods: readonly DrainPod[]): string[] => pods.map(({ name }) => name);

test('pods with a lower order are evicted first, and the next order follows when they are gone', () => {
  const [web, api, db] = [pod('web', ordered(-1)), pod('api'), pod('db', ordered(10))];
  expect(names(plan([db, api, web]).evict)).toEqual(['web']);
  expect(names(plan([db, api, { ...web, dueAt: later(MINUTE) }]).evict)).toEqual([]);
  expect(names(plan([db, api]).evict)).toEqual(['api']);
  expect(names(plan([db]).evict)).toEqual(['db']);
});

test('pods with one order are evicted together', () => {
  expect(names(plan([pod('a', ordered(5)), pod('b', ordered(5))]).evict)).toEqual(['a', 'b']);
});

test('a pod with volumes and a later order does not take the place of an earlier pod', () => {
  const pods = [withVolume('a-db', { priority: 100, ...ordered(10) }), withVolume('b-web')];
  expect(names(plan(pods).evict)).toEqual(['b-web']);
});

test('the drain skips a pod, and ends although the pod runs', () => {
  expect(plan([pod('agent', ruled('Skip'))])).toMatchObject({ drained: true, evict: [], blockers: [] });
  expect(names(plan([pod('agent', ruled('Skip')), pod('db', ordered(10))]).evict)).toEqual(['db']);
});

test('the drain waits for the completion of a pod, names its rule, and delays no other pod', () => {
  const job = pod('job', ruled('WaitCompleted'));
  const waiting = plan([job, pod('web'), pod('db', ordered(10))]);
  expect([names(waiting.evict), waiting.drained]).toEqual([['web'], false]);
  expect(waiting.blockers).toMatchObject([
    { text: 'drain rule r waits until pod default/job has completed', failed: false },
  ]);
  expect(names(plan([job, pod('db', ordered(10))]).evict)).toEqual(['db']);
  expect(names(plan([{ ...job, phase: 'Succeeded' }]).evict)).toEqual(['job']);
});

test('a forced drain ignores the order and the completion, but not the pods that it skips', () => {
  const pods = [pod('agent', ruled('Skip')), pod('job', ruled('WaitCompleted')), pod('web'), pod('db', ordered(10))];
  expect(names(planDrain(look(inOrder(pods), { forced: true }), later(0)).remove)).toEqual(['job', 'web', 'db']);
});

test('Quarantine evicts no pod after the timeout that a rule delays', () => {
  const pods = inOrder([pod('job', ruled('WaitCompleted')), pod('web'), pod('db', ordered(10))]);
  const o = look(pods, { policy: 'Quarantine' });
  expect(names(planDrain(o, o.forceAt).evict)).toEqual(['web']);
});

test('the explanation names the reason of each wait', () => {
  const pods = inOrder([
    pod('agent', ruled('Skip')),
    pod('job', ruled('WaitCompleted')),
    pod('web'),
    pod('db', ordered(9)),
  ]);
  const explained = explainDrain(look(pods), later(0)).pods.map(({ pod: name, fate, because }) => [
    name,
    fate,
    because,
  ]);
  expect(explained).toEqual([
    ['default/db', 'turn', 'pods with a lower drain order are evicted first'],
    ['default/job', 'blocked', 'drain rule r waits until pod default/job has completed'],
    ['default/web', 'evict', 'the controller of the pod starts a new pod on another node'],
    ['default/agent', 'stays', 'drain rule r skips the pod'],
  ]);
});
