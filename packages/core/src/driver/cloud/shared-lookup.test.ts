import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { SharedLookup } from './shared-lookup.ts';

const never = new AbortController().signal;

function held() {
  const clock = new VirtualClock();
  const asked: string[][] = [];
  const answers: PromiseWithResolvers<{ InstanceId: string }[]>[] = [];
  const signals: AbortSignal[] = [];
  const lookup = new SharedLookup(
    (values, signal) => {
      asked.push([...values]);
      signals.push(signal);
      const answer = Promise.withResolvers<{ InstanceId: string }[]>();
      answers.push(answer);
      signal.addEventListener('abort', () => answer.reject(signal.reason));
      return answer.promise;
    },
    ({ InstanceId }) => InstanceId,
    clock,
  );
  return { clock, lookup, asked, answers, signals };
}

const started = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('look-ups during a request are combined in the next request, and never added to the running one', async () => {
  const { clock, lookup, asked, answers } = held();
  const first = lookup.find('a', never);
  await started();
  expect(asked).toEqual([['a']]);
  const others = ['b', 'c'].map((value) => lookup.find(value, never));
  answers[0]?.resolve([{ InstanceId: 'a' }]);
  expect(await first).toEqual([{ InstanceId: 'a' }]);
  await clock.advance(2_000);
  expect(asked).toEqual([['a'], ['b', 'c']]);
  answers[1]?.resolve([{ InstanceId: 'c' }]);
  expect(await Promise.all(others)).toEqual([[], [{ InstanceId: 'c' }]]);
});

test('a thousand concurrent look-ups need five requests', async () => {
  const { clock, lookup, asked, answers } = held();
  const found = Array.from({ length: 1_000 }, (_, i) => lookup.find(`i-${i}`, never));
  for (let i = 0; i < 5; i++) {
    await clock.advance(2_000);
    answers[i]?.resolve([]);
  }
  await Promise.all(found);
  expect(asked.map(({ length }) => length)).toEqual([200, 200, 200, 200, 200]);
});

test('a failed request fails all of its look-ups, and the next request continues', async () => {
  const { clock, lookup, answers } = held();
  const first = lookup.find('a', never);
  await started();
  const second = lookup.find('b', never);
  answers[0]?.reject(new Error('throttled'));
  await expect(first).rejects.toThrow('throttled');
  await clock.advance(2_000);
  answers[1]?.resolve([{ InstanceId: 'b' }]);
  expect(await second).toEqual([{ InstanceId: 'b' }]);
});

test('a cancelled look-up ends at once, and the request ends when no look-up is left', async () => {
  const { lookup, signals, asked } = held();
  const [one, two] = [new AbortController(), new AbortController()];
  const first = lookup.find('a', one.signal);
  const second = lookup.find('b', two.signal);
  await started();
  two.abort(new Error('second left'));
  await expect(second).rejects.toThrow('second left');
  expect(signals[0]?.aborted).toBe(false);
  one.abort(new Error('first left'));
  await expect(first).rejects.toThrow('first left');
  expect(signals[0]?.aborted).toBe(true);
  await new Promise(setImmediate);
  expect(asked).toEqual([['a', 'b']]);
});
