import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { ROOT, trackedFiles } from './sources.ts';

const PROGRAMS = join(import.meta.dirname, 'readmes');

afterEach(() => vi.restoreAllMocks());

test('every program in a README equals a compiled file', () => {
  const programs = new Map(readdirSync(PROGRAMS).map((file) => [readFileSync(join(PROGRAMS, file), 'utf8'), file]));
  const shown = trackedFiles('README.md', '*/*/README.md').flatMap((page) =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/```ts\n(.*?)```/gs)].map(([, text = '']) => ({ page, text })),
  );
  expect(shown.filter(({ text }) => !programs.has(text))).toEqual([]);
  expect(shown.map(({ text }) => programs.get(text)).sort()).toEqual([...programs.values()].sort());
});

test.each([
  ['api', 'spec.replicas: must be 0 or more\n2 7200000 deleteVm 4'],
  ['kube', 'default/hello was seen'],
  ['control-plane', '201'],
])('%s prints the documented output', async (program, said) => {
  const print = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  await import(`./readmes/${program}.ts`);
  expect(print.mock.calls.map((words) => words.join(' ')).join('\n')).toBe(said);
});
