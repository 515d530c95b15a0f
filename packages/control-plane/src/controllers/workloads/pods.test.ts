import { expect, test } from 'vitest';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { byState, byWorth } from './pods.ts';

const NOW = new Date('2024-01-01T12:00:00Z');
const ago = (seconds: number): string => new Date(NOW.getTime() - seconds * 1000).toISOString();

interface Facts {
  readonly node?: string;
  readonly phase?: string;
  readonly ready?: number;
  readonly cost?: number;
  readonly restarts?: number;
  readonly age?: number;
}

const pod = (
  name: string,
  { node = name, phase = 'Running', ready, cost, restarts = 0, age = 100 }: Facts,
): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    uid: name,
    creationTimestamp: ago(age),
    ...(cost === undefined ? {} : { annotations: { 'controller.kubernetes.io/pod-deletion-cost': String(cost) } }),
  },
  spec: node === '' ? {} : { nodeName: node },
  status: {
    phase,
    containerStatuses: [{ restartCount: restarts }],
    conditions: ready === undefined ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime: ago(ready) }],
  },
});

test.each<[string, Facts, Facts]>([
  ['one without a node goes before one with', { node: '' }, { ready: 1 }],
  ['a pending one goes before a running one', { phase: 'Pending' }, { phase: 'Running' }],
  ['an unready one goes before a ready one', {}, { ready: 10 }],
  ['the cheaper one goes first', { ready: 90, cost: -5 }, { ready: 10 }],
  ['the one that was ready for half as long goes first', { ready: 20 }, { ready: 45 }],
  ['the one that was started again more often goes first', { ready: 10, restarts: 2 }, { ready: 10 }],
  ['the one of half the age goes first', { ready: 5, age: 40 }, { ready: 5, age: 100 }],
])('of two pods, one is deleted first: %s', (_title, lesser, better) => {
  for (const [a, b] of [
    ['a', 'b'],
    ['b', 'a'],
  ] as const) {
    const order = byWorth([pod(b, better), pod(a, lesser)], NOW).map(({ metadata }) => metadata.name);
    expect(order).toEqual([a, b]);
  }
});

test('of several pods on one node, one is deleted before a pod that is alone on its node', () => {
  const pods = [pod('a', { node: 'one', ready: 10 }), pod('b', { node: 'two', ready: 10 })];
  const sibling = pod('c', { node: 'two', ready: 10 });
  expect(byWorth(pods, NOW, [...pods, sibling]).map(({ metadata }) => metadata.name)).toEqual(['b', 'a']);
});

test('for pods of similar age the uid decides; without a time, the age is compared in seconds', () => {
  const pods = [pod('b', { ready: 70 }), pod('a', { ready: 80 })];
  expect(byWorth(pods, NOW).map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
  expect(byWorth(pods).map(({ metadata }) => metadata.name)).toEqual(['b', 'a']);
});

test.each<[string, Facts, Facts]>([
  ['the younger, by its exact age', { age: 99 }, { age: 100 }],
  ['the one that was ready last', { ready: 99, restarts: 0 }, { ready: 100, restarts: 5 }],
  ['the one that was started again more often', { restarts: 1, age: 200 }, { age: 100 }],
])('a job deletes %s, independent of cost and of other pods on the node', (_name, first, second) => {
  const crowd = [pod('c', { node: 'n', age: 500 }), pod('d', { node: 'n', age: 500 })];
  const pods = [pod('a', { ...first, node: 'm', cost: 9 }), pod('b', { ...second, node: 'n', cost: -9 }), ...crowd];
  const order = byState(pods).map(({ metadata }) => metadata.name);
  expect(order.indexOf('a')).toBeLessThan(order.indexOf('b'));
});

test('a cost that is not an integer is ignored, and sidecars decide if containers are equal', () => {
  const costly = (name: string, cost: string, age: number): ApiObject => {
    const one = pod(name, { node: 'n', age });
    return {
      ...one,
      metadata: { ...one.metadata, annotations: { 'controller.kubernetes.io/pod-deletion-cost': cost } },
    };
  };
  const names = (pods: ApiObject[]) => byWorth(pods).map(({ metadata }) => metadata.name);
  expect(names([costly('a', 'x', 50), costly('b', '+5', 10), costly('c', '-1', 99)])).toEqual(['c', 'b', 'a']);
  const sidecar = (name: string, restartCount: number): ApiObject => ({
    ...pod(name, { node: 'n' }),
    spec: { nodeName: 'n', initContainers: [{ name: 's', restartPolicy: 'Always' }] },
    status: { phase: 'Running', initContainerStatuses: [{ name: 's', restartCount }] },
  });
  expect(names([sidecar('a', 1), sidecar('b', 2)])).toEqual(['b', 'a']);
});
