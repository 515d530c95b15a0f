import { expect, test } from 'vitest';
import { nearest } from './nearest.ts';

const known = ['v', 'port', 'namespace', 'machine-drain-timeout', 'machine-creation-timeout'];

test.each([
  ['prot', 'port'],
  ['Namespace', 'namespace'],
  ['machine-drian-timeout', 'machine-drain-timeout'],
  ['machineDrainTimeout', 'machine-drain-timeout'],
  ['zone', undefined],
  ['', undefined],
  ['q', undefined],
  ['x'.repeat(100_000), undefined],
])('%s: %s', (name, expected) => {
  expect(nearest(name, known)).toBe(expected);
});

test('of two equally near names, the first is used', () => {
  expect(nearest('a1', ['a2', 'a3'])).toBe('a2');
});
