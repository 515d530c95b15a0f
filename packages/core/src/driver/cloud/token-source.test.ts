import { VirtualClock } from '@mcm/kube';
import { expect, test } from 'vitest';
import { tokenSource } from './token-source.ts';

const { signal } = new AbortController();

function open(livesMs: number) {
  const clock = new VirtualClock();
  let asked = 0;
  const source = tokenSource(clock, async () => ({
    value: String(++asked),
    until: clock.now().getTime() + livesMs,
  }));
  return { clock, source };
}

test('all callers share one token request, and the next follows five minutes before the expiry', async () => {
  const { clock, source } = open(3_600_000);
  expect(await Promise.all([source.get(signal), source.get(signal)])).toEqual(['1', '1']);
  await clock.advance(3_299_999);
  expect(await source.get(signal)).toBe('1');
  await clock.advance(1);
  expect(await source.get(signal)).toBe('2');
});

test('a token with a short life is renewed after half of it, not with every request', async () => {
  const { clock, source } = open(60_000);
  expect(await source.get(signal)).toBe('1');
  await clock.advance(29_999);
  expect(await source.get(signal)).toBe('1');
  await clock.advance(1);
  expect(await source.get(signal)).toBe('2');
});

test('a refused token is requested again; a refusal of an older one does not remove a newer one', async () => {
  const { source } = open(3_600_000);
  const first = await source.get(signal);
  source.refused(first);
  expect(await source.get(signal)).toBe('2');
  source.refused(first);
  expect(await source.get(signal)).toBe('2');
});

test('a failed token request is repeated by the next caller', async () => {
  const clock = new VirtualClock();
  const answers = [() => Promise.reject(new Error('not now')), () => Promise.resolve({ value: 'a', until: 9e12 })];
  const source = tokenSource(clock, () => answers.shift()?.() ?? Promise.reject(new Error('no more')));
  await expect(source.get(signal)).rejects.toThrow('not now');
  expect(await source.get(signal)).toBe('a');
});
