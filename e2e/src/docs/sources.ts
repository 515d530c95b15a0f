import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The workspace. */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A file of the workspace, its path from there. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

/** All TypeScript sources under the folders, tests and what was generated left out. */
export const sourcesUnder = (...folders: readonly string[]): Source[] =>
  folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !/node_modules|[\\/]dist[\\/]|generated/.test(path))
      .map((path) => ({ path: relative(ROOT, path), text: readFileSync(path, 'utf8') })),
  );

/** Paths of files that are in the repository or about to be, by git's patterns. */
export const trackedFiles = (...patterns: readonly string[]): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .trim()
    .split('\n')
    .filter((path) => existsSync(join(ROOT, path)));
