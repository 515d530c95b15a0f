import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { MachineError } from '../contract/errors.ts';
import { withDeadline } from './deadline.ts';

const SECOND = 1_000;

/** A call of 60 s at most, begun. @param work What the driver does with its signal */
function begin(work: (signal: AbortSignal, clock: VirtualClock) => Promise<string>, waited = false) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const overdue: string[] = [];
  let end: string | undefined;
  const onOverdue = waited ? ({ message }: MachineError) => void overdue.push(message) : undefined;
  const options = { clock, timeoutMs: 60 * SECOND, stop: stop.signal, what: 'create of machine m', onOverdue };
  const call = withDeadline(options, (signal) => work(signal, clock)).then(
    (result) => {
      end = result;
    },
    ({ code, message }: MachineError) => {
      end = `${code}: ${message}`;
    },
  );
  return { clock, stop, overdue, call, end: () => end };
}

const until = (signal: AbortSignal, error: unknown): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(error), { once: true });
  });
const never = (): Promise<never> => new Promise(() => undefined);

test('at its deadline a call is told to end, and counts as DeadlineExceeded whatever its library makes of that', async () => {
  const { clock, end } = begin((signal) => until(signal, new DOMException('aborted', 'AbortError')));
  await clock.advance(60 * SECOND - 1);
  expect(end()).toBeUndefined();
  await clock.advance(1);
  expect(end()).toBe('DeadlineExceeded: create of machine m took longer than 60 s');
});

test('what the driver itself says of its end counts', async () => {
  const { clock, end } = begin((signal) => until(signal, new MachineError('ResourceExhausted', 'no room')));
  await clock.advance(60 * SECOND);
  expect(end()).toBe('ResourceExhausted: no room');
});

test('when the process stops a call is told to end at once, and is Canceled', async () => {
  const { clock, stop, end } = begin((signal) => until(signal, new Error('aborted')));
  await clock.advance(SECOND);
  stop.abort();
  await clock.advance(0);
  expect(end()).toBe('Canceled: create of machine m was broken off: the process stops');
});

test('once the process stops no call is begun', async () => {
  const stop = new AbortController();
  stop.abort();
  let begun = 0;
  const options = { clock: new VirtualClock(), timeoutMs: SECOND, stop: stop.signal, what: 'create of machine m' };
  const call = withDeadline(options, async () => begun++);
  await expect(call).rejects.toMatchObject({ code: 'Canceled', message: expect.stringContaining('was not begun') });
  expect(begun).toBe(0);
});

test('a driver that ignores its signal is given up 30 s later where nobody waits for it', async () => {
  const { clock, end } = begin(never);
  await clock.advance(90 * SECOND - 1);
  expect(end()).toBeUndefined();
  await clock.advance(1);
  expect(end()).toBe('DeadlineExceeded: create of machine m took longer than 60 s');
});

test('where its effect counts it is told of once and waited for, and what it ends with counts', async () => {
  const finished = Promise.withResolvers<string>();
  const { clock, overdue, end } = begin(() => finished.promise, true);
  await clock.advance(3_600 * SECOND);
  expect(overdue).toEqual(['create of machine m took longer than 60 s and has not ended since it was told to']);
  expect(end()).toBeUndefined();
  finished.resolve('made after all');
  await clock.advance(0);
  expect(end()).toBe('made after all');
});

test('a stop of the process ends even that wait, 30 s later', async () => {
  const { clock, stop, end } = begin(never, true);
  await clock.advance(3_600 * SECOND);
  stop.abort();
  await clock.advance(30 * SECOND);
  expect(end()).toContain('DeadlineExceeded');
});

test('one that ends within the grace is not told of as overdue', async () => {
  const finished = Promise.withResolvers<string>();
  const { clock, overdue, end } = begin(() => finished.promise, true);
  await clock.advance(70 * SECOND);
  finished.resolve('made');
  await clock.advance(3_600 * SECOND);
  expect([end(), overdue]).toEqual(['made', []]);
});
