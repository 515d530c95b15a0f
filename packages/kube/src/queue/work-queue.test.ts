import { expect, test } from 'vitest';
import { seededRandom } from '../base/random.ts';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { WorkQueue, type WorkQueueOptions } from './work-queue.ts';

function setUp(change: Partial<WorkQueueOptions> = {}) {
  const clock = new VirtualClock();
  const reported: string[] = [];
  let ready = 0;
  const queue = new WorkQueue({
    clock,
    random: seededRandom(1),
    backoff: { baseMs: 100, maxMs: 10_000, jitter: 0 },
    observer: {
      added: () => reported.push('added'),
      started: (waitedMs) => reported.push(`started after ${waitedMs}`),
      finished: (workMs) => reported.push(`finished after ${workMs}`),
      retried: () => reported.push('retried'),
    },
    onReady: () => {
      ready += 1;
    },
    ...change,
  });
  const drain = (): string[] => {
    const keys: string[] = [];
    for (let key = queue.take(); key !== undefined; key = queue.take()) keys.push(key);
    return keys;
  };
  return { clock, queue, reported, drain, ready: () => ready };
}

test('thousands of keys are taken in the order in which they were added', () => {
  const { queue, drain } = setUp();
  const keys = Array.from({ length: 5_000 }, (_, i) => `k${i}`);
  for (const key of keys.slice(0, 3_000)) queue.add(key);
  const first = Array.from({ length: 2_000 }, () => queue.take());
  for (const key of keys.slice(3_000)) queue.add(key);
  expect([...first, ...drain()]).toEqual(keys);
});

test('a key that is added while it is processed is ready again afterwards, and is counted once', () => {
  const { queue, reported, drain, ready } = setUp();
  queue.add('a');
  expect([queue.take(), queue.running, queue.depth]).toEqual(['a', 1, 0]);
  for (let i = 0; i < 3; i += 1) queue.add('a');
  expect([queue.depth, ready()]).toEqual([0, 1]);
  queue.done('a');
  expect([queue.depth, ready()]).toEqual([1, 2]);
  expect(drain()).toEqual(['a']);
  queue.done('a');
  expect(drain()).toEqual([]);
  expect(reported.filter((one) => one === 'added')).toHaveLength(2);
});

test('waiting and processing times are reported', async () => {
  const { clock, queue, reported } = setUp();
  await clock.advance(50);
  queue.add('a');
  await clock.advance(300);
  queue.take();
  expect([...queue.runningSince]).toEqual([clock.monotonic()]);
  await clock.advance(200);
  queue.done('a');
  queue.done('a');
  expect(reported).toEqual(['added', 'started after 300', 'finished after 200']);
});

test('the earliest of several delays counts, and taking a key drops its delay', async () => {
  const { clock, queue, drain, ready } = setUp();
  queue.add('a', 1_000);
  queue.add('a', 500);
  queue.add('a', 700);
  expect(queue.nextInMs).toBe(500);
  await clock.advance(500);
  expect([drain(), ready(), queue.nextInMs]).toEqual([['a'], 1, undefined]);
  queue.done('a');
  queue.add('a', 1_000);
  queue.add('a');
  expect([drain(), queue.nextInMs]).toEqual([['a'], undefined]);
  queue.done('a');
  await clock.advance(5_000);
  expect([drain(), clock.pending]).toEqual([[], 0]);
});

test('a key that was ready before its delay ended can be delayed again', async () => {
  const { clock, queue, drain } = setUp();
  queue.add('a', 1_000);
  queue.add('a');
  expect(drain()).toEqual(['a']);
  queue.done('a');
  queue.add('a', 2_000);
  expect(queue.nextInMs).toBe(2_000);
  await clock.advance(2_000);
  expect(drain()).toEqual(['a']);
});

test('a delay of one millisecond is kept, and a retry waits for at least one', () => {
  const { queue } = setUp({ backoff: { baseMs: 0, maxMs: 0, jitter: 0 } });
  queue.add('a', 1);
  queue.retry('b');
  expect([queue.depth, queue.nextInMs]).toEqual([0, 1]);
});

test('urgent keys are taken one after the other if no other key is ready', () => {
  const { queue, drain } = setUp({ urgent: () => true });
  const keys = Array.from({ length: 9 }, (_, i) => `u${i}`);
  for (const key of keys) queue.add(key);
  expect(drain()).toEqual(keys);
});

test('a delay is ignored for a key that is ready, or will be ready after its processing', async () => {
  const { clock, queue, drain } = setUp();
  queue.add('a');
  queue.add('a', 1_000);
  expect(queue.nextInMs).toBeUndefined();
  expect(drain()).toEqual(['a']);
  queue.add('a');
  queue.add('a', 1_000);
  expect(queue.nextInMs).toBeUndefined();
  queue.done('a');
  expect(drain()).toEqual(['a']);
  queue.add('a', 1_000);
  queue.done('a');
  await clock.advance(1_000);
  expect(drain()).toEqual(['a']);
});

test('a delay that was requested before the key was added during its processing is dropped', async () => {
  const { clock, queue, drain } = setUp();
  queue.add('a');
  queue.take();
  queue.add('a', 1_000);
  queue.add('a');
  queue.done('a');
  expect([drain(), queue.nextInMs]).toEqual([['a'], undefined]);
  queue.done('a');
  await clock.advance(5_000);
  expect(drain()).toEqual([]);
});

test('one timer runs, for the earliest key', async () => {
  const { clock, queue, drain } = setUp();
  for (const ms of [300, 200, 100, 400]) queue.add(`k${ms}`, ms);
  expect(clock.pending).toBe(1);
  await clock.advance(250);
  expect(drain()).toEqual(['k100', 'k200']);
  expect(clock.pending).toBe(1);
  await clock.advance(250);
  expect(drain()).toEqual(['k300', 'k400']);
});

test('the back-off grows with each retry until the key is forgotten', async () => {
  const { queue, reported, drain, clock } = setUp();
  const waits: (number | undefined)[] = [];
  const retried = async (leastMs?: number) => {
    queue.retry('a', leastMs);
    waits.push(queue.nextInMs);
    await clock.advance(20_000);
    expect(drain()).toEqual(['a']);
    queue.done('a');
  };
  for (let i = 0; i < 3; i += 1) await retried();
  await retried(15_000);
  expect(queue.failures('a')).toBe(4);
  queue.forget('a');
  await retried();
  expect(waits).toEqual([100, 200, 400, 15_000, 100]);
  expect(reported.filter((one) => one === 'retried')).toHaveLength(5);
});

test('a closed queue drops waiting keys and accepts no further ones', async () => {
  const { clock, queue, drain, ready } = setUp({ urgent: (key) => key === 'urgent' });
  queue.add('worked-on');
  expect(queue.take()).toBe('worked-on');
  for (const key of ['ready', 'urgent']) queue.add(key);
  queue.add('later', 1_000);
  queue.add('worked-on');
  const before = ready();
  queue.close();
  queue.add('new');
  queue.add('new', 10);
  queue.retry('failed');
  expect([queue.nextInMs, clock.pending]).toEqual([undefined, 0]);
  queue.done('worked-on');
  await clock.advance(60_000);
  expect([drain(), queue.depth, queue.running, queue.nextInMs, ready() - before]).toEqual([[], 0, 0, undefined, 0]);
  expect(clock.pending).toBe(0);
});

test('a queue without an observer works', async () => {
  const clock = new VirtualClock();
  for (const observer of [{}, undefined]) {
    const backoff = { baseMs: 100, maxMs: 10_000, jitter: 0 };
    const options = { clock, random: seededRandom(1), backoff, onReady: () => undefined };
    const queue = new WorkQueue({ ...options, ...(observer ? { observer } : {}) });
    queue.add('a');
    expect(queue.take()).toBe('a');
    queue.add('a');
    queue.done('a');
    queue.retry('b');
    expect(queue.take()).toBe('a');
  }
});
