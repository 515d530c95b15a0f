import { expect, test } from 'vitest';
import { TestClock } from '../testing.ts';
import { Heartbeats } from './heartbeats.ts';
import { PacedQueue } from './paced-queue.ts';
import {
  assessZones,
  EVICTION_RULES,
  evictionRate,
  type ZoneCount,
  type ZoneState,
  zoneOf,
  zoneState,
} from './zones.ts';

test.each<[ready: number, notReady: number, state: ZoneState, rate: number]>([
  [3, 0, 'Normal', 0.1],
  [0, 1, 'FullDisruption', 0.1],
  [0, 100, 'FullDisruption', 0.1],
  [1, 2, 'Normal', 0.1],
  [2, 3, 'PartialDisruption', 0],
  [3, 3, 'Normal', 0.1],
  [9, 11, 'PartialDisruption', 0],
  [20, 30, 'PartialDisruption', 0],
  [20, 31, 'PartialDisruption', 0.01],
  [24, 27, 'Normal', 0.1],
])(
  'a zone with %i ready nodes and %i others is in %s, and %d nodes per second are tainted',
  (ready, notReady, state, rate) => {
    expect(zoneState({ ready, notReady }, EVICTION_RULES)).toBe(state);
    expect(evictionRate(state, { ready, notReady }, EVICTION_RULES)).toBe(rate);
  },
);

const node = (labels: Record<string, string>) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', labels } });

test('a zone is a region and a zone; the deprecated labels take precedence', () => {
  expect(zoneOf(node({}))).toBe('');
  expect(zoneOf(node({ 'topology.kubernetes.io/zone': 'a' }))).toBe(':\u0000:a');
  expect(zoneOf(node({ 'topology.kubernetes.io/region': 'r', 'topology.kubernetes.io/zone': 'a' }))).toBe('r:\u0000:a');
  expect(zoneOf(node({ 'failure-domain.beta.kubernetes.io/zone': 'old', 'topology.kubernetes.io/zone': 'new' }))).toBe(
    ':\u0000:old',
  );
});

const LOST: ZoneCount = { ready: 0, notReady: 3 };
const WELL: ZoneCount = { ready: 3, notReady: 0 };
const HALF: ZoneCount = { ready: 1, notReady: 3 };

test('an unreachable zone has the normal rate if others are healthy; if all are unreachable the rate is zero', () => {
  const assess = (counts: Record<string, ZoneCount>, before: Record<string, ZoneState>) => {
    const { change, rates } = assessZones(
      new Map(Object.entries(counts)),
      new Map(Object.entries(before)),
      EVICTION_RULES,
    );
    return [change, Object.fromEntries(rates)];
  };
  expect(assess({}, {})).toEqual(['none', {}]);
  expect(assess({ a: WELL }, {})).toEqual(['none', { a: 0.1 }]);
  expect(assess({ a: LOST, b: WELL }, { a: 'Normal', b: 'Normal' })).toEqual(['none', { a: 0.1 }]);
  expect(assess({ a: HALF, b: LOST }, { a: 'Normal', b: 'FullDisruption' })).toEqual(['none', { a: 0 }]);
  expect(assess({ a: LOST, b: LOST }, { a: 'Normal', b: 'FullDisruption' })).toEqual(['enter', { a: 0, b: 0 }]);
  expect(assess({ a: LOST, b: LOST }, { a: 'FullDisruption', b: 'FullDisruption' })).toEqual(['none', {}]);
  expect(assess({ a: HALF, b: LOST }, { a: 'FullDisruption', b: 'FullDisruption' })).toEqual([
    'leave',
    { a: 0, b: 0.1 },
  ]);
});

test('names wait for the rate limit, and longer after the rate was zero', async () => {
  const clock = new TestClock();
  const came: string[] = [];
  const start = clock.now().getTime();
  const queue = new PacedQueue(clock, 0.1, (name) => came.push(`${name} ${(clock.now().getTime() - start) / 1000}`));
  for (const name of ['a', 'b', 'c', 'd']) queue.add(name);
  queue.remove('c');
  queue.run();
  queue.run();
  expect(came).toEqual(['a 0']);
  await clock.advance(9_999);
  expect(came).toEqual(['a 0']);
  await clock.advance(1);
  expect(came).toEqual(['a 0', 'b 10']);
  queue.setRate(0);
  await clock.advance(60_000);
  queue.setRate(0.1);
  queue.run();
  await clock.advance(60_000);
  expect(came).toEqual(['a 0', 'b 10', 'd 80']);
});

test('a node is checked once per grace period, in the round after its deadline', () => {
  const heartbeats = new Heartbeats(5_000);
  heartbeats.beat('n', 1_000);
  heartbeats.watch('n', heartbeats.deadline('n', true));
  expect(heartbeats.next()).toBe(55_000);
  for (let at = 10_000; at < 55_000; at += 10_000) heartbeats.beat('n', at);
  expect(heartbeats.due(54_999)).toEqual([]);
  expect(heartbeats.due(55_000)).toEqual(['n']);
  expect(heartbeats.next()).toBeUndefined();
  heartbeats.beatAll(54_000);
  expect(heartbeats.deadline('n', true)).toBe(104_000);
});
