import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { absentTests, namedTests } from './named-tests.ts';
import { ROOT } from './sources.ts';

const text = readFileSync(join(ROOT, 'docs/compatibility/findings.md'), 'utf8');
const references = namedTests(text);
const rows = [...text.matchAll(/^\| (R?\d+)\s+\|(.*)\|$/gm)].map(([, id = '', rest = '']) => ({ id, rest }));

test('each finding and each incident has a row in the order of numbers, and no row is empty', () => {
  const ids = [
    ...Array.from({ length: 49 }, (_, index) => `R${index + 1}`),
    ...Array.from({ length: 33 }, (_, index) => `${index + 1}`),
  ];
  expect(rows.map(({ id }) => id)).toEqual(ids);
  expect(rows.filter(({ rest }) => !/[›§]|open: \S/.test(rest)).map(({ id }) => id)).toEqual([]);
});

test('every named test and document exists', () => {
  expect(references.length).toBeGreaterThan(80);
  expect(absentTests(references)).toEqual([]);
});
