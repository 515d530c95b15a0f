import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { absentTests, namedTests } from './named-tests.ts';
import { ROOT } from './sources.ts';

const text = readFileSync(join(ROOT, 'docs/compatibility/oddities.md'), 'utf8');
const rows = [...text.matchAll(/^\| O-(\d+)\s+\|[^|]+\|(.*)\|$/gm)].map(([, id = '', here = '']) => ({
  id: Number(id),
  here,
}));

const NOT_GIVEN = [27, 66, 68, 69];

test('each oddity has a row, in the order of numbers, with a test, a document, or the reason why it cannot occur', () => {
  const ids = Array.from({ length: 71 }, (_, index) => index + 1).filter((id) => !NOT_GIVEN.includes(id));
  expect(rows.map(({ id }) => id)).toEqual(ids);
  expect(rows.filter(({ here }) => !/[›§]|_by design_: \S/.test(here)).map(({ id }) => id)).toEqual([]);
});

test('every named test and document exists', () => {
  const named = rows.flatMap(({ here }) => namedTests(here));
  expect(named.length).toBeGreaterThan(50);
  const inCore = ({ path }: { readonly path: string }) => !/^(docs|e2e|packages)\//.test(path);
  expect(
    absentTests(named.map((one) => (inCore(one) ? { ...one, path: `packages/core/src/${one.path}` } : one))),
  ).toEqual([]);
});
