import { expect, test } from 'vitest';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { FailedPods } from './failed-pods.ts';
import { isUpdated, targetOf } from './node.ts';
import { byAge, type DaemonView, planPlacement, planUpdate } from './plan.ts';

const NOW = new Date('2024-01-01T12:00:00Z');
const RUNS = { runs: true, stays: true };
const STAYS = { runs: false, stays: true };

interface Facts {
  readonly hash?: string;
  readonly ready?: boolean;
  readonly age?: number;
  readonly bound?: boolean;
  readonly labels?: Record<string, string>;
}

const pod = (name: string, { hash = 'new', ready = true, age = 60, bound = true, labels }: Facts = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    labels: labels ?? { 'controller-revision-hash': hash },
    creationTimestamp: new Date(NOW.getTime() - age * 1000).toISOString(),
  },
  spec: bound ? { nodeName: 'n' } : {},
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
});

const setWith = (rollingUpdate: Record<string, unknown>, generation = '2'): ApiObject => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'd', annotations: { 'deprecated.daemonset.template.generation': generation } },
  spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate } },
});

const view = (
  rollingUpdate: Record<string, unknown>,
  podsOn: Record<string, ApiObject[]>,
  placements: Record<string, { runs: boolean; stays: boolean }>,
): DaemonView => ({
  set: setWith(rollingUpdate),
  hash: 'new',
  podsOn: new Map(Object.entries(podsOn)),
  placements: new Map(Object.entries(placements)),
  now: NOW,
});
const namesOf = (pods: readonly ApiObject[]): unknown[] => pods.map(({ metadata }) => metadata.name);

test('a bound pod of a node is kept first, then the oldest one, then the first one by name', () => {
  const pods = [pod('c', { bound: false, age: 90 }), pod('b'), pod('a'), pod('d', { age: 61 })];
  expect(namesOf(byAge(pods))).toEqual(['d', 'a', 'b', 'c']);
});

test('the template of a pod is identified by its hash, or by the older generation number', () => {
  const of = (labels: Record<string, string>, generation?: string): boolean =>
    isUpdated(setWith({}, generation), 'new', pod('p', { labels }));
  expect(of({ 'controller-revision-hash': 'new' })).toBe(true);
  expect(of({ 'controller-revision-hash': 'old', 'pod-template-generation': '2' })).toBe(true);
  expect(of({ 'controller-revision-hash': 'old', 'pod-template-generation': '1' })).toBe(false);
  expect(of({ 'pod-template-generation': 'x' }, 'x')).toBe(false);
});

test.each([
  ['one name', 'In', ['a'], 'a'],
  ['two names', 'In', ['a', 'b'], undefined],
  ['another operator', 'NotIn', ['a'], undefined],
])('a waiting pod names its node: %s', (_name, operator, values, expected) => {
  const nodeSelectorTerms = [{ matchFields: [{ key: 'metadata.name', operator, values }] }];
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  expect(targetOf({ ...pod('p'), spec: { affinity: { nodeAffinity } } })).toBe(expected);
});

test('two pods on a node remain for a surge, also if no node is selected any more', () => {
  const old = pod('old', { hash: 'old', age: 90 });
  const podsOn = { a: [old, pod('fresh', { ready: false })] };
  const surging = { maxSurge: '10%', maxUnavailable: 0 };
  expect(planPlacement(view(surging, podsOn, { a: STAYS })).delete).toEqual([]);
  expect(namesOf(planPlacement(view({ maxUnavailable: 1 }, podsOn, { a: STAYS })).delete)).toEqual(['fresh']);
});

test.each<[string, ApiObject[]]>([
  ['that has more than one pod of a template', [pod('x', { hash: 'old' }), pod('y', { hash: 'old' })]],
  ['that has an old pod beside the new one', [pod('x', { hash: 'old' }), pod('y')]],
  ['whose new pod is not available', [pod('x', { ready: false })]],
])('a node %s counts as unavailable, selected or not', (_name, pods) => {
  const podsOn = { a: pods, b: [pod('b', { hash: 'old' })] };
  for (const placements of [{ a: RUNS, b: RUNS }, { a: STAYS, b: RUNS }, { b: RUNS }]) {
    expect(planUpdate(view({ maxUnavailable: 1 }, podsOn, placements)).delete).toEqual([]);
    expect(namesOf(planUpdate(view({ maxUnavailable: 2 }, podsOn, placements)).delete)).toEqual(['b']);
  }
});

test('an old unavailable pod is replaced without a limit', () => {
  const podsOn = { a: [pod('a', { ready: false })], b: [pod('b', { hash: 'old', ready: false })] };
  expect(namesOf(planUpdate(view({ maxUnavailable: 1 }, podsOn, { a: RUNS, b: RUNS })).delete)).toEqual(['b']);
});

test('with a surge, a pod leaves a node that is not selected only after its replacement is available', () => {
  const surging = { maxSurge: 1, maxUnavailable: 0 };
  const podsOn = { a: [pod('a', { hash: 'old' })], b: [pod('b', { ready: false })] };
  expect(planUpdate(view(surging, podsOn, { a: STAYS, b: RUNS })).delete).toEqual([]);
  const ready = { ...podsOn, b: [pod('b')] };
  expect(namesOf(planUpdate(view(surging, ready, { a: STAYS, b: RUNS })).delete)).toEqual(['a']);
});

test('a failed pod is replaced at once, then after a doubled wait, and a change of the set resets the wait', () => {
  const failed = new FailedPods();
  const set = { ...setWith({}), status: { observedGeneration: 1 } };
  const after = (seconds: number): Date => new Date(NOW.getTime() + seconds * 1000);
  expect(failed.waitUntil(set, pod('a'), NOW)).toBeUndefined();
  expect(failed.waitUntil(set, pod('b'), after(0.5))).toEqual(after(1));
  expect(failed.waitUntil(set, pod('b'), after(1))).toBeUndefined();
  expect(failed.waitUntil(set, pod('c'), after(2))).toEqual(after(3));
  expect(failed.waitUntil({ ...set, status: { observedGeneration: 2 } }, pod('c'), after(2))).toBeUndefined();
});
