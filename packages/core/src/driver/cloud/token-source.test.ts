import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { tokenSource } from './token-source.ts';

const { signal } = new AbortController();

/** Tokens `1`, `2`, … that live so long. */
function open(livesMs: number) {
  const clock = new VirtualClock();
  let asked = 0;
  const source = tokenSource(clock, async () => ({
    value: String(++asked),
    until: clock.now().getTime() + livesMs,
  }));
  return { clock, source };
}

test('one question for all that need it, and another five minutes before its end', async () => {
  const { clock, source } = open(3_600_000);
  expect(await Promise.all([source.get(signal), source.get(signal)])).toEqual(['1', '1']);
  await clock.advance(3_299_999);
  expect(await source.get(signal)).toBe('1');
  await clock.advance(1);
  expect(await source.get(signal)).toBe('2');
});

test('of a short life half is used: no question with every request', async () => {
  const { clock, source } = open(60_000);
  expect(await source.get(signal)).toBe('1');
  await clock.advance(29_999);
  expect(await source.get(signal)).toBe('1');
  await clock.advance(1);
  expect(await source.get(signal)).toBe('2');
});

test('a token that is refused is asked for anew; who was refused with an older one takes away no newer', async () => {
  const { source } = open(3_600_000);
  const first = await source.get(signal);
  source.refused(first);
  expect(await source.get(signal)).toBe('2');
  source.refused(first);
  expect(await source.get(signal)).toBe('2');
});

test('a failure is kept by nobody', async () => {
  const clock = new VirtualClock();
  const answers = [() => Promise.reject(new Error('not now')), () => Promise.resolve({ value: 'a', until: 9e12 })];
  const source = tokenSource(clock, () => answers.shift()?.() ?? Promise.reject(new Error('no more')));
  await expect(source.get(signal)).rejects.toThrow('not now');
  expect(await source.get(signal)).toBe('a');
});
