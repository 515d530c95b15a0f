import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { absentTests, namedTests } from './named-tests.ts';
import { ROOT } from './sources.ts';

const text = readFileSync(join(ROOT, 'docs/compatibility/rules-drivers.md'), 'utf8');
const ROW_FILES = [
  ...['aws', 'azure', 'gcp'].map((each) => `e2e/src/drivers/endpoints/${each}.test.ts`),
  ...['aws', 'azure', 'gcp'].map((each) => `e2e/src/drivers/credentials/${each}.test.ts`),
  ...['aws', 'gcp'].map((each) => `e2e/src/drivers/rows/${each}.test.ts`),
  ...['creation', 'deletion', 'listing', 'operations', 'provider-spec'].map(
    (each) => `e2e/src/drivers/rows/azure/${each}.test.ts`,
  ),
  'providers/local/src/pods/rows.test.ts',
];

test('every named test exists, and every rule has a test', () => {
  const named = namedTests(text);
  expect(named.length).toBeGreaterThan(200);
  expect(absentTests(named)).toEqual([]);
  const rows = text.split('\n').filter((line) => /^\| (?!Rule|Provider|-)/.test(line));
  expect(rows.length).toBeGreaterThan(180);
  expect(rows.filter((row) => !row.includes(' › '))).toEqual([]);
});

test('the table contains every test that has the ID of a row', () => {
  const ids = ROW_FILES.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/ \[([AZGP]\d+|E\d-\d\d)\]'/g)].map(([, id = '']) => id),
  );
  expect(ids.length).toBeGreaterThan(150);
  expect(ids.filter((id) => !text.includes(`\n| ${id} `))).toEqual([]);
});
