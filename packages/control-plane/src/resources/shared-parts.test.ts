import { expect, test } from 'vitest';
import { SharedParts } from './shared-parts.ts';

test('equal parts become one object, which nothing can change', () => {
  const parts = new SharedParts();
  const one = parts.of({ labels: { app: 'a' }, ports: [{ port: 80 }] });
  expect(one).toEqual({ labels: { app: 'a' }, ports: [{ port: 80 }] });
  expect(parts.of({ labels: { app: 'a' }, ports: [{ port: 80 }] })).toBe(one);
  expect(parts.of({ labels: { app: 'b' }, ports: [{ port: 80 }] })).not.toBe(one);
  expect(() => {
    one.labels.app = 'b';
  }).toThrow(TypeError);
  expect(() => one.ports.push({ port: 81 })).toThrow(TypeError);
});

test('a value stays the value of its owner, and keeps all digits', () => {
  const parts = new SharedParts();
  const given = { large: 9_007_199_254_740_993n };
  expect(parts.of(given)).toEqual(given);
  expect(Object.isFrozen(given)).toBe(false);
  expect([parts.of(undefined), parts.of(null), parts.of(1), parts.of('text')]).toEqual([undefined, null, 1, 'text']);
});

test('the number of parts has a limit', () => {
  const parts = new SharedParts();
  const first = parts.of({ at: 0 });
  for (let at = 1; at < 16_384; at++) parts.of({ at });
  expect(parts.of({ at: 0 })).toBe(first);
  parts.of({ at: 16_384 });
  expect(parts.of({ at: 0 })).not.toBe(first);
});
