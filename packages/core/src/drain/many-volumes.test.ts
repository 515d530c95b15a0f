import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NO_DRAIN_MEMORY, type VolumeMove } from './model/observation.ts';
import { playDrain } from './play.ts';
import { later, look, pod, withVolume } from './testing.ts';
import { nextPlaceAt } from './volumes/volumes.ts';

const PODS = Array.from({ length: 24 }, (_, i) => withVolume(`db-${String(i).padStart(2, '0')}`));
const FAST = { graceMs: 5_000, detachMs: 5_000, attachMs: 20_000 };

test('twenty-four pods with volumes are evicted within the window, in the order of a serial drain, in a third of its time', () => {
  const serial = playDrain(PODS, FAST, 1);
  const wide = playDrain(PODS, FAST, 5);
  expect(serial.mostUnderWay).toBe(1);
  expect(wide.mostUnderWay).toBe(5);
  expect(wide.order).toEqual(serial.order);
  expect(wide.order).toHaveLength(24);
  expect(wide.tookMs).toBeLessThan(serial.tookMs / 3);
});

test.each([
  [2, 2],
  [3, 3],
  [5, 5],
])('of twenty-four pods with volumes and a window of %i, at most %i move at the same time', (window, most) => {
  expect(playDrain(PODS, FAST, window).mostUnderWay).toBe(most);
});

test('twenty-four pods with volumes and limited room elsewhere are drained in order, and faster than one by one', () => {
  const serial = playDrain(PODS, { ...FAST, slots: 10 }, 1);
  const tight = playDrain(PODS, { ...FAST, slots: 10 }, 5);
  expect(tight.tookMs).toBeLessThan(serial.tookMs);
  expect(tight.order).toEqual(serial.order);
});

test('twenty-four pods with volumes in a cloud that detaches slowly are evicted one at a time: the window stays small', () => {
  const slow = { graceMs: 5_000, detachMs: 70_000, attachMs: 10_000 };
  const wide = playDrain(PODS, slow, 5);
  expect(wide.mostUnderWay).toBe(1);
  expect(wide).toEqual(playDrain(PODS, slow, 1));
});

test('twenty pods with volumes and more are never slower than a serial drain', () => {
  const seconds = (max: number) => fc.integer({ min: 0, max }).map((n) => n * 1_000);
  fc.assert(
    fc.property(
      fc.record({
        graceMs: seconds(5),
        detachMs: seconds(40),
        attachMs: seconds(20),
        slots: fc.integer({ min: 12, max: 24 }),
      }),
      fc.integer({ min: 2, max: 8 }),
      fc.integer({ min: 20, max: 22 }),
      (times, window, count) => {
        const pods = PODS.slice(0, count);
        const played = playDrain(pods, times, window);
        expect(played.tookMs).toBeLessThanOrEqual(playDrain(pods, times, 1).tookMs);
        expect(played.order).toHaveLength(count);
        expect(played.mostUnderWay).toBeLessThanOrEqual(window);
      },
    ),
    { numRuns: 4 },
  );
});

test('the next place becomes free with a pod that has one, not with one that has given it up', () => {
  const move = (name: string, change: Partial<VolumeMove>): [string, VolumeMove] => [
    name,
    { pod: pod(name), volumes: [`pv-${name}`], returns: true, ...change },
  ];
  const moves = new Map([
    move('given-up', { goneAt: later(0), detachedAt: later(1_000) }),
    move('under-way', { goneAt: later(200_000), detachedAt: later(201_000) }),
  ]);
  const o = look([], { memory: { ...NO_DRAIN_MEMORY, moves } });
  expect(nextPlaceAt(o, later(210_000))).toEqual(later(201_000 + 90_000));
  expect(nextPlaceAt(o, later(300_000))).toBeUndefined();
});
