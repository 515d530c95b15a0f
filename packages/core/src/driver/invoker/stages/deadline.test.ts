import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { MachineError } from '../../contract/errors.ts';
import { withDeadline } from './deadline.ts';

const SECOND = 1_000;

function begin(work: (signal: AbortSignal, clock: VirtualClock) => Promise<string>, waited = false) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const overdue: string[] = [];
  let end: string | undefined;
  const onOverdue = waited ? ({ message }: MachineError) => void overdue.push(message) : undefined;
  const options = { clock, timeoutMs: 60 * SECOND, stop: stop.signal, callName: 'create of machine m', onOverdue };
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

test('a call aborts its signal at the deadline and fails with DeadlineExceeded, for any error of the library', async () => {
  const { clock, end } = begin((signal) => until(signal, new DOMException('aborted', 'AbortError')));
  await clock.advance(60 * SECOND - 1);
  expect(end()).toBeUndefined();
  await clock.advance(1);
  expect(end()).toBe('DeadlineExceeded: create of machine m took longer than 60 s');
});

test('a call keeps a MachineError that the driver throws after the abort', async () => {
  const { clock, end } = begin((signal) => until(signal, new MachineError('ResourceExhausted', 'no room')));
  await clock.advance(60 * SECOND);
  expect(end()).toBe('ResourceExhausted: no room');
});

test('a call aborts its signal at once and fails with Canceled when the process stops', async () => {
  const { clock, stop, end } = begin((signal) => until(signal, new Error('aborted')));
  await clock.advance(SECOND);
  stop.abort();
  await clock.advance(0);
  expect(end()).toBe('Canceled: create of machine m was canceled, because the process stops');
});

test('no call starts after the process stops', async () => {
  const stop = new AbortController();
  stop.abort();
  let begun = 0;
  const options = { clock: new VirtualClock(), timeoutMs: SECOND, stop: stop.signal, callName: 'create of machine m' };
  const call = withDeadline(options, async () => begun++);
  await expect(call).rejects.toMatchObject({ code: 'Canceled', message: expect.stringContaining('was not started') });
  expect(begun).toBe(0);
});

test('without a callback, a call that ignores its signal ends 30 s after the deadline', async () => {
  const { clock, end } = begin(never);
  await clock.advance(90 * SECOND - 1);
  expect(end()).toBeUndefined();
  await clock.advance(1);
  expect(end()).toBe('DeadlineExceeded: create of machine m took longer than 60 s');
});

test('with a callback, an overdue call is reported once, and its result is awaited', async () => {
  const finished = Promise.withResolvers<string>();
  const { clock, overdue, end } = begin(() => finished.promise, true);
  await clock.advance(3_600 * SECOND);
  expect(overdue).toEqual(['create of machine m took longer than 60 s, and the call ignores its abort signal']);
  expect(end()).toBeUndefined();
  finished.resolve('made after all');
  await clock.advance(0);
  expect(end()).toBe('made after all');
});

test('an overdue call ends 30 s after the process stops', async () => {
  const { clock, stop, end } = begin(never, true);
  await clock.advance(3_600 * SECOND);
  stop.abort();
  await clock.advance(30 * SECOND);
  expect(end()).toContain('DeadlineExceeded');
});

test('a call that ends within the grace period is not reported as overdue', async () => {
  const finished = Promise.withResolvers<string>();
  const { clock, overdue, end } = begin(() => finished.promise, true);
  await clock.advance(70 * SECOND);
  finished.resolve('made');
  await clock.advance(3_600 * SECOND);
  expect([end(), overdue]).toEqual(['made', []]);
});
