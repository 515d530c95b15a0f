import { expect, test } from 'vitest';
import { settle, TestClock } from '../testing.ts';
import { WorkQueue } from './queue.ts';

test('a closed queue keeps its keys, and processes each key once after it is opened', async () => {
  const clock = new TestClock();
  const seen: string[] = [];
  const queue = new WorkQueue(clock, async (key) => void seen.push(key), expect.unreachable);
  for (const key of ['a', 'b', 'a']) queue.add(key);
  queue.addAfter('c', 1000);
  await clock.advance(1000);
  expect(seen).toEqual([]);
  queue.open();
  await settle();
  expect(seen).toEqual(['a', 'b', 'c']);
});

test('a key that is added during its work is processed again, by one worker at a time', async () => {
  let active = 0;
  let turns = 0;
  const work = async (): Promise<void> => {
    expect(++active).toBe(1);
    if (++turns < 3) queue.add('a');
    await settle();
    active--;
  };
  const queue = new WorkQueue(new TestClock(), work, expect.unreachable);
  queue.open();
  queue.add('a');
  for (let turn = 0; turn < 5; turn++) await settle();
  expect(turns).toBe(3);
});

test('a failed key is reported, and retried after 5, 10 and 20 milliseconds', async () => {
  const clock = new TestClock();
  const start = clock.now().getTime();
  const times: number[] = [];
  const errors: string[] = [];
  const work = async (): Promise<void> => {
    times.push(clock.now().getTime() - start);
    if (times.length < 4) throw new Error(`no ${times.length}`);
  };
  const queue = new WorkQueue(clock, work, (key, error) => errors.push(`${key}: ${error}`));
  queue.open();
  queue.add('a');
  await settle();
  await clock.advance(60_000);
  expect(times).toEqual([0, 5, 15, 35]);
  expect(errors).toEqual(['a: Error: no 1', 'a: Error: no 2', 'a: Error: no 3']);
});

test('the earliest time of a key counts, and a stopped queue processes nothing', async () => {
  const clock = new TestClock();
  const start = clock.now().getTime();
  const seen: string[] = [];
  const work = async (key: string): Promise<void> => void seen.push(`${key} ${clock.now().getTime() - start}`);
  const queue = new WorkQueue(clock, work, expect.unreachable);
  queue.open();
  queue.addAfter('a', 2000);
  queue.addAfter('a', 1000);
  queue.addAfter('a', 3000);
  await clock.advance(5000);
  expect(seen).toEqual(['a 1000']);
  queue.addAfter('b', 1000);
  queue.add('c');
  queue.stop();
  queue.open();
  queue.add('d');
  queue.addAfter('e', 1000);
  await clock.advance(5000);
  expect(seen).toEqual(['a 1000']);
});
