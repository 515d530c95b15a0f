import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { controllerNames } from './index.ts';

const HERE = import.meta.dirname;
const SOURCES = join(HERE, '..');

const TITLE = /(['"`])((?:\\.|(?!\1)[^\\\n])*)\1,\s*(?:async\s*)?\(/g;

const testFiles = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.test.ts'),
);
const titles = new Set(
  testFiles.flatMap((file) =>
    [...readFileSync(join(SOURCES, file), 'utf8').matchAll(TITLE)].map(([, , title = '']) =>
      title.replace(/\\(.)/g, '$1'),
    ),
  ),
);

const readme = readFileSync(join(HERE, 'README.md'), 'utf8');
const rows = readme
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (?:-|Controller )/.test(line))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));

const isThere = (place: string): boolean => {
  try {
    return statSync(join(HERE, place)) !== undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
};

test('every location in the table of rules exists', () => {
  const places = rows.flatMap(([, , place = '']) => [...place.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path));
  expect(places.length).toBeGreaterThan(50);
  expect(places.filter((place) => !isThere(place))).toEqual([]);
});

test('every test in the table of rules exists, and each rule has one', () => {
  const named = rows.map(([, , , tests = '']) =>
    tests.split('<br>').map((title) => title.trim().replace(/^`|`$/g, '')),
  );
  const isTested = (title: string): boolean =>
    title.endsWith('…') ? [...titles].some((one) => one.startsWith(title.slice(0, -1).trim())) : titles.has(title);
  expect(named.flat().filter((title) => !isTested(title))).toEqual([]);
});

test('every controller is in the table of rules', () => {
  const named = new Set(rows.flatMap(([names = '']) => names.split(', ')));
  expect(controllerNames.filter((name) => !named.has(name))).toEqual([]);
});
