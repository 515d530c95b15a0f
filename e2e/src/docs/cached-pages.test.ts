import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './sources.ts';

/** Matches a page that a file reads: relative to the root, relative to the file, or by its name in a constant. */
const READ = /(?:join\((?:ROOT|SIMULATION), |new URL\(|page = )'(?:\.\.\/)*(docs\/[\w/-]+\.md)'/g;

interface Tasks {
  readonly tasks: Readonly<Record<string, { readonly inputs?: readonly string[] }>>;
}

test('the pages that tests read are inputs of their tasks, so that a change of a page repeats the tests', () => {
  const { tasks }: Tasks = JSON.parse(readFileSync(join(ROOT, 'turbo.json'), 'utf8'));
  const inputs = ['@mcm/e2e#test', 'test:programs', '@mcm/tools#test:programs'].flatMap(
    (task) => tasks[task]?.inputs ?? [],
  );
  const files = globSync(['e2e/src/**/*.ts', 'tools/src/**/*.ts'], { cwd: ROOT, exclude: ['e2e/src/docs/**'] });
  const pages = files.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(READ)].map(([, page = '']) => page),
  );
  expect(pages.length).toBeGreaterThan(5);
  expect(pages.filter((page) => !inputs.includes(`$TURBO_ROOT$/${page}`))).toEqual([]);
});
