import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { absentTests, namedTests } from './named-tests.ts';
import { ROOT } from './sources.ts';

const text = readFileSync(join(ROOT, 'docs/compatibility/rules-machines.md'), 'utf8');

test('every named test exists, and every rule has a test', () => {
  expect(absentTests(namedTests(text))).toEqual([]);
  const rows = text.split('\n').filter((line) => /^\| (?!Rule|-)/.test(line));
  expect(rows.length).toBeGreaterThan(100);
  expect(rows.filter((row) => !row.includes(' › '))).toEqual([]);
});

test('every section of the behavior has rules; the twelfth consists of scenario rows, which are the names of tests', () => {
  const sections = text.split(/^## /m).slice(1);
  const named = sections.map((section) => section.match(/^§(\d+) /)?.[1]);
  expect(named).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '13']);
  expect(sections.filter((section) => !section.includes(' › '))).toEqual([]);
});
