import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { absentTests, namedTests } from './named-tests.ts';
import { ROOT } from './sources.ts';

const text = readFileSync(join(ROOT, 'docs/compatibility/rules-machine-config.md'), 'utf8');

test('every named test of machine configs exists, and every rule has a test', () => {
  const named = namedTests(text);
  expect(named.length).toBeGreaterThan(250);
  expect(absentTests(named)).toEqual([]);
  const rows = text.split('\n').filter((line) => /^\| (?!Rule|Topic|Trap|Bug|Part|-)/.test(line));
  expect(rows.filter((row) => !row.includes(' › '))).toEqual([]);
});

test('the table contains every row of the scenario tables, every decision and every trap', () => {
  const count = (pattern: RegExp): number => new Set([...text.matchAll(pattern)].map(([, id]) => id)).size;
  expect(count(/^\| ([A-Z]\d+) +\|/gm)).toBe(150);
  expect(count(/^\| (\d+) +\|/gm)).toBe(18);
});

test('the title of a test contains the ID of its row or trap', () => {
  const rows = [...text.matchAll(/^\| ([A-Z]\d+) +\|.*› ([^`]+)`/gm)].map(([, id = '', title = '']) => ({ id, title }));
  expect(rows.length).toBe(150);
  expect(rows.filter(({ id, title }) => !new RegExp(`(?<![A-Z0-9])${id}(?!\\d)`).test(title))).toEqual([]);
});
