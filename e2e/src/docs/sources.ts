import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export interface Source {
  readonly path: string;
  readonly text: string;
}

/** Returns the paths of files that match git patterns, including new files. */
export const trackedFiles = (...patterns: readonly string[]): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .trim()
    .split('\n')
    .filter((path) => existsSync(join(ROOT, path)));

/** Returns the TypeScript sources in folders, without tests and generated files. */
export const sourcesUnder = (...folders: readonly string[]): Source[] =>
  trackedFiles(...folders.map((folder) => `${folder}/*.ts`))
    .filter((path) => !/\.test\.ts$|generated/.test(path))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
