import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderProblems, picture, readLayers } from './folder-reference.ts';
import { ROOT } from './sources.ts';

test('every folder of every package is described, and every described folder exists', () => {
  expect(folderProblems(readLayers())).toEqual([]);
});

test('the error contains a folder without a description, a deleted folder and a missing package', () => {
  const layers = readLayers().map(({ layer, packages: { tools, ...packages } }) => ({
    layer,
    packages: {
      ...packages,
      ...(packages['packages/api']
        ? { 'packages/api': { ...packages['packages/api'], kinds: undefined, gone: 'x' } }
        : {}),
    },
  }));
  const problems = folderProblems(JSON.parse(JSON.stringify(layers)));
  expect(problems).toEqual([
    'tools: add the package to docs/contributing/folders.yaml',
    'packages/api/src/kinds: describe the folder in docs/contributing/folders.yaml',
    'packages/api/src/gone: the folder does not exist; remove the entry from docs/contributing/folders.yaml',
  ]);
});

test('the picture shows each folder within its frame', () => {
  const folders = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`folder-${at}`, '']));
  const layers = [
    { layer: 'One', packages: { 'packages/a': folders, 'packages/b': {} } },
    { layer: 'Two', packages: { 'packages/c': { second: '' } } },
    { layer: 'Three', standalone: true, packages: { tools: {} } },
  ];
  const svg = picture(layers);
  const [, width, height] = svg.match(/viewBox="0 0 (\d+) (\d+)"/) ?? [];
  const texts = [...svg.matchAll(/<text x="(\d+)" y="(\d+)"[^>]*>([^<]*)</g)];
  for (const [, x, y, text = ''] of texts) {
    // The widest letters of a sans-serif font have about this width on average.
    expect(Number(x) + 7.6 * text.length, text).toBeLessThan(Number(width) - 12);
    expect(Number(y)).toBeLessThan(Number(height));
  }
  const shown = texts.flatMap(([, , , text = '']) => text.split(/\s+/));
  expect(shown).toEqual(expect.arrayContaining([...Object.keys(folders), 'second', 'packages/b', 'tools']));
  expect(svg.match(/>imports</g)).toHaveLength(1);
  expect(svg).toMatch(/width="\d+" height="\d+"/);
});

test('every path in the page of the architecture exists', () => {
  const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
  const paths = [...page.matchAll(/`((?:apps|e2e|packages|providers|tools)\/[\w./-]+)`/g)].map(([, path = '']) => path);
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
