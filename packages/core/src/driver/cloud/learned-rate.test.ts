import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { inLane, type Lane } from './lanes.ts';
import { LearnedRate, LearnedRates } from './learned-rate.ts';

function cloud(clock: VirtualClock, perSecond: number) {
  const taken: number[] = [];
  let refused = 0;
  return {
    call(): boolean {
      const now = clock.now().getTime();
      if (taken.filter((at) => at > now - 1_000).length >= perSecond) {
        refused++;
        return false;
      }
      taken.push(now);
      return true;
    },
    refused: () => refused,
  };
}

async function callUntilTaken(rate: LearnedRate, call: () => boolean, signal: AbortSignal): Promise<void> {
  for (;;) {
    await rate.take(signal);
    if (call()) return rate.succeeded();
    rate.throttled();
  }
}

const never = new AbortController().signal;

test('no call waits while the cloud does not throttle', async () => {
  const clock = new VirtualClock();
  const rate = new LearnedRate(clock);
  for (let i = 0; i < 100; i++) {
    await rate.take(never);
    rate.succeeded();
  }
  expect(rate.limit).toBeUndefined();
  expect(clock.now()).toEqual(new VirtualClock().now());
});

test('200 calls at 5 a second take at most one and a half times the 40 s of the limit', async () => {
  const clock = new VirtualClock();
  const { call, refused } = cloud(clock, 5);
  const rate = new LearnedRate(clock);
  const since = clock.now().getTime();
  let done = 0;
  const calls = Array.from({ length: 200 }, () =>
    callUntilTaken(rate, call, never).then(() => {
      done++;
    }),
  );
  await clock.runUntil(() => done === 200, { maxMs: 600_000 });
  await Promise.all(calls);
  expect(clock.now().getTime() - since).toBeLessThan(60_000);
  // Before the rate limit is learned, the cloud refuses the first burst of calls.
  expect(refused()).toBeLessThan(200 + 60);
});

test('a wait that the cloud requests applies, and a caller that stops waiting leaves the queue', async () => {
  const clock = new VirtualClock();
  const rate = new LearnedRate(clock);
  const since = clock.now().getTime();
  rate.throttled(30_000);
  const stop = new AbortController();
  const givesUp = rate.take(stop.signal).catch((reason: unknown) => reason);
  let went: number | undefined;
  const goes = rate.take(never).then(() => {
    went = clock.now().getTime() - since;
  });
  stop.abort(new Error('enough'));
  await expect(givesUp).resolves.toMatchObject({ message: 'enough' });
  await clock.runUntil(() => went !== undefined, { maxMs: 60_000 });
  await goes;
  expect(went).toBe(30_000);
});

test('after ten minutes without a throttle the limit is forgotten', async () => {
  const clock = new VirtualClock();
  const rate = new LearnedRate(clock);
  rate.throttled();
  expect(rate.limit).toBe(0.8);
  await clock.advance(600_001);
  expect(rate.limit).toBeUndefined();
});

test('the rate grows by a twentieth a second, at first by a tenth of a call', async () => {
  const clock = new VirtualClock();
  const rate = new LearnedRate(clock);
  rate.throttled();
  await clock.advance(10_000);
  expect(rate.limit).toBeCloseTo(1.8);
  await clock.advance(50_000);
  expect(rate.limit).toBeCloseTo(0.8 * 1.05 ** 60);
});

test('however often a cloud throttles, one call is sent every two seconds', async () => {
  const clock = new VirtualClock();
  const rate = new LearnedRate(clock);
  for (let n = 0; n < 50; n++) {
    rate.throttled();
    await clock.advance(1_000);
  }
  rate.throttled();
  expect(rate.limit).toBeGreaterThanOrEqual(0.5);
});

async function lanesAt(counts: Readonly<Partial<Record<Lane, number>>>): Promise<Partial<Record<Lane, number>>> {
  const clock = new VirtualClock();
  const { call } = cloud(clock, 5);
  const rate = new LearnedRate(clock);
  const since = clock.now().getTime();
  const ends: Partial<Record<Lane, number>> = {};
  let open = 0;
  const calls = (Object.entries(counts) as [Lane, number][]).flatMap(([lane, count]) =>
    Array.from({ length: count }, async () => {
      open++;
      await inLane({ lane }, () => callUntilTaken(rate, call, never));
      open--;
      ends[lane] = (clock.now().getTime() - since) / 1_000;
    }),
  );
  await clock.runUntil(() => open === 0, { maxMs: 1_000_000 });
  await Promise.all(calls);
  return ends;
}

test('100 deletions together with 500 creations take little longer than alone', async () => {
  const { delete: alone = 0 } = await lanesAt({ delete: 100 });
  const { delete: together = 0, create = 0 } = await lanesAt({ create: 500, delete: 100 });
  expect(together).toBeLessThan(alone * 1.25);
  expect(create).toBeGreaterThan(together * 3);
});

test('the lanes have the order delete, health, create and audit', async () => {
  const ends = await lanesAt({ audit: 50, create: 50, health: 50, delete: 50 });
  const order = Object.entries(ends).toSorted(([, a], [, b]) => a - b);
  expect(order.map(([lane]) => lane)).toEqual(['delete', 'health', 'create', 'audit']);
});

test('an audit does not wait for the end of all deletions', async () => {
  const { delete: deletions = 0, audit = 0 } = await lanesAt({ delete: 200, audit: 1 });
  expect(audit).toBeLessThan(deletions / 2);
});

test('the wait of a call is reported with its lane, and a call without a wait reports nothing', async () => {
  const clock = new VirtualClock();
  const rate = new LearnedRate(clock);
  const waits: number[] = [];
  const take = () => inLane({ lane: 'create', onWaited: (ms) => waits.push(ms) }, () => rate.take(never));
  await take();
  rate.throttled(30_000);
  const waiting = take();
  await clock.advance(30_000);
  await waiting;
  expect(waits).toEqual([30_000]);
});

test('a signal that aborts while its call leaves does not remove another waiting call', async () => {
  const clock = new VirtualClock();
  const leaving = new AbortController();
  const rate = new LearnedRate({
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    setTimeout: (callback, ms) =>
      clock.setTimeout(() => {
        callback();
        leaving.abort();
      }, ms),
  });
  rate.throttled();
  const calls = Promise.all([rate.take(leaving.signal), rate.take(never)]);
  await clock.advance(10_000);
  await expect(calls).resolves.toHaveLength(2);
});

test('each kind of call has its own rate, and the oldest rate is removed above the maximum', () => {
  const rates = new LearnedRates(new VirtualClock(), 2);
  const first = rates.of('read');
  rates.of('write');
  expect(rates.of('read')).toBe(first);
  rates.of('delete');
  expect(rates.of('read')).not.toBe(first);
});

test('clusters take turns, so a cluster with many calls does not delay another cluster', async () => {
  const clock = new VirtualClock();
  const rate = new LearnedRate(clock);
  rate.throttled();
  const left: string[] = [];
  const [a, b] = [{}, {}];
  const take = (name: string, cluster: object, lane: Lane = 'create') =>
    inLane({ lane, cluster }, async () => {
      await rate.take(new AbortController().signal);
      left.push(name);
    });
  const all = ['a1', 'a2', 'a3', 'a4'].map((name) => take(name, a));
  all.push(take('deleted', a, 'delete'));
  await clock.advance(2_500);
  expect(left).toEqual(['deleted', 'a1']);
  all.push(take('b1', b), take('b2', b));
  await clock.advance(60_000);
  await Promise.all(all);
  expect(left).toEqual(['deleted', 'a1', 'a2', 'b1', 'a3', 'b2', 'a4']);
});
