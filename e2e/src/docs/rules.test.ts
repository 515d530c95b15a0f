import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { absentTests, namedTests } from './named-tests.ts';
import { ROOT } from './sources.ts';

const text = readFileSync(join(ROOT, 'docs/compatibility/rules-deployments.md'), 'utf8');
const rows = [...text.matchAll(/^\| (\d[\d., ]*)\| (.*)\|$/gm)].map(([, section = '', rest = '']) => ({
  section: section.trim(),
  rest,
}));
/** The numbers of the sections that contain rules for deployments, sets or safety. */
const BEHAVIOUR = ['0.1', '0.2', '0.3', '0.4', '0.5', '1.1', '1.2', '1.3', '1.4', '1.5', '1.6', '1.7', '1.8', '1.9']
  .concat(['1.10', '1.11', '2.1', '2.2', '2.3', '2.4', '2.5', '2.6', '2.7', '2.8', '2.9', '3.1', '3.2', '3.3', '3.4'])
  .concat(['3.5', '3.6', '3.7', '3.8', '4', '5.1', '5.2', '5.3', '5.4', '5.5', '5.6', '5.7', '5.8', '5.9', '5.10'])
  .concat(['6.1', '6.2', '6.3', '6.4', '6.5', '6.6', '6.7', '6.8', '7.1', '7.2', '7.3', '7.4', '7.5', '7.6', '7.7'])
  .concat(['7.8', '7.9', '7.10', '7.11', '7.12', '8.1', '8.2', '8.3', '8.4', '8.5', '9.1', '9.2', '9.3', '9.4', '9.5'])
  .concat(['10.1', '10.2', '10.3', '10.4', '10.5', '10.6']);

test('every section of the behavior has rules, and every rule has a test', () => {
  const sections = new Set(rows.map(({ section }) => section));
  expect(BEHAVIOUR.filter((section) => !sections.has(section))).toEqual([]);
  expect(rows.filter(({ rest }) => !rest.includes(' › ')).map(({ section }) => section)).toEqual([]);
});

test('every named test exists', () => {
  const named = namedTests(text);
  expect(named.length).toBeGreaterThan(250);
  expect(named.length).toBe(text.split('.test.ts › ').length - 1);
  expect(absentTests(named)).toEqual([]);
});
