import { expect, test } from 'vitest';
import { VirtualClock } from '../clock/virtual-clock.ts';
import { workUntil } from './work.ts';

/** Units that never end, and events that are noted as sent. */
function begin({ already = false }: { readonly already?: boolean } = {}) {
  const [clock, term, stop] = [new VirtualClock(), new AbortController(), new AbortController()];
  const told: string[] = [];
  if (already) term.abort();
  const runner = { run: () => new Promise<void>(() => undefined) };
  const recorder = {
    flush: async () => {
      told.push('sent');
    },
  };
  const signals = { term: term.signal, stop: stop.signal, clock };
  void workUntil(runner, signals, [recorder]).then(() => told.push('ended'));
  return { clock, term, stop, told };
}

test('a process that ends gives its work a grace, and sends its events', async () => {
  const { clock, term, stop, told } = begin();
  stop.abort();
  term.abort();
  await clock.advance(1_400);
  expect(told).toEqual([]);
  await clock.advance(100);
  expect(told).toEqual(['sent', 'ended']);
});

test('a lease that is lost ends the work at once: its events are the next leader’s to tell', async () => {
  const { clock, term, told } = begin();
  term.abort();
  await clock.settle();
  expect(told).toEqual(['ended']);
});

test('a term that is over before the work begins ends it', async () => {
  const { clock, told } = begin({ already: true });
  await clock.settle();
  expect(told).toEqual(['ended']);
});
