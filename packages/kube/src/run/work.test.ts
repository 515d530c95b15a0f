import { expect, test } from 'vitest';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { workUntil } from './work.ts';

function begin({ already = false }: { readonly already?: boolean } = {}) {
  const [clock, term, stop] = [new VirtualClock(), new AbortController(), new AbortController()];
  const reported: string[] = [];
  if (already) term.abort();
  const runner = { run: () => new Promise<void>(() => undefined) };
  const recorder = {
    flush: async () => {
      reported.push('sent');
    },
  };
  const signals = { term: term.signal, stop: stop.signal, clock };
  void workUntil(runner, signals, [recorder]).then(() => reported.push('ended'));
  return { clock, term, stop, reported };
}

test('a stopping process gives its work a grace period, and sends its events', async () => {
  const { clock, term, stop, reported } = begin();
  stop.abort();
  term.abort();
  await clock.advance(1_400);
  expect(reported).toEqual([]);
  await clock.advance(100);
  expect(reported).toEqual(['sent', 'ended']);
});

test('after the loss of the lease the work ends immediately, and the next leader sends the events', async () => {
  const { clock, term, reported } = begin();
  term.abort();
  await clock.settle();
  expect(reported).toEqual(['ended']);
});

test('the work ends immediately if the term is over before it begins', async () => {
  const { clock, reported } = begin({ already: true });
  await clock.settle();
  expect(reported).toEqual(['ended']);
});
