import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { SUITES } from '../suites/suites.ts';
import { MUTANTS, TOPICS } from './list.ts';

const ROOT = new URL('../../../../', import.meta.url);

test('each mutant changes one place of the current code', () => {
  const wrong = MUTANTS.flatMap(({ file, find, replace }) => {
    const count = readFileSync(fileURLToPath(new URL(file, ROOT)), 'utf8').split(find).length - 1;
    return count === 1 && find !== replace ? [] : [`${file}: ${find} occurs ${count} times`];
  });
  expect(wrong).toEqual([]);
});

test('each topic has mutants, and each mutant has suites', () => {
  expect(TOPICS.filter((topic) => !MUTANTS.some((mutant) => mutant.topic === topic))).toEqual([]);
  expect(MUTANTS.flatMap(({ suites }) => suites).filter((suite) => !SUITES.has(suite))).toEqual([]);
});
