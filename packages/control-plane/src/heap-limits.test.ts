import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { heapFlags } from './heap-limits.ts';

const MB = 2 ** 20;

test('a small heap grows slowly, a large heap grows as by default, and a huge heap always doubles', () => {
  const flags = (heapUsed: number) => heapFlags(heapUsed, '12.4.254.21-node.33');
  expect(flags(100 * MB)).toEqual(['--semi-space-growth-factor=1', '--heap-growing-percent=50']);
  expect(flags(256 * MB)).toEqual(['--semi-space-growth-factor=2', '--heap-growing-percent=0']);
  expect(flags(512 * MB)).toEqual(['--semi-space-growth-factor=2', '--heap-growing-percent=100']);
});

test('buffers start no garbage collection of a huge heap', () => {
  const flag = (heapUsed: number) => heapFlags(heapUsed, '13.6.233.17-node.53').at(-1);
  expect(flag(100 * MB)).toBe('--no-external-memory-accounted-in-global-limit');
  expect(flag(256 * MB)).toBe('--no-external-memory-accounted-in-global-limit');
  expect(flag(512 * MB)).toBe('--external-memory-accounted-in-global-limit');
});

test('this version of V8 knows all flags', () => {
  const known = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  for (const flag of [...heapFlags(0), ...heapFlags(512 * MB)])
    expect(known).toContain(`--${flag.replace(/^--(?:no-)?/, '').replace(/=.*/, '')} `);
});
