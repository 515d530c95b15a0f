import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ParseResult, parseSync } from 'oxc-parser';

/** One TypeScript file of the repository, parsed. */
export interface Source {
  /** Path below the root of the repository. */
  path: string;
  text: string;
  parsed: ParseResult;
}

/** Whether a file serves tests only. Such files are not counted as sources of their folder. */
export function isTest(path: string): boolean {
  return /[./]test(ing|data)?(\.ts$|\/)|\/test-[^/]+\.ts$/.test(`/${path}`);
}

/** All TypeScript files that git tracks below `root`, in the order of their paths. */
export function readSources(root: string): Source[] {
  const listed = execFileSync('git', ['ls-files', '-z', '*.ts'], { cwd: root, encoding: 'utf8' });
  const paths = listed.split('\0').filter((path) => path !== '' && !path.endsWith('.d.ts'));
  return paths.sort().map((path) => parseSource(path, readFileSync(join(root, path), 'utf8')));
}

/** Throws an Error that names the file when it is not valid TypeScript. */
export function parseSource(path: string, text: string): Source {
  const parsed = parseSync(path, text);
  const [error] = parsed.errors;
  if (error !== undefined) throw new Error(`${path}: ${error.message}`);
  return { path, text, parsed };
}

/** For each file, the files that it imports by a relative path. Imports of types and re-exports count. */
export function importGraph(sources: readonly Source[]): Map<string, string[]> {
  const known = new Set(sources.map(({ path }) => path));
  return new Map(
    sources.map(({ path, parsed }) => {
      const requests = [
        ...parsed.module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
        ...parsed.module.staticExports.flatMap(({ entries }) => entries.map((entry) => entry.moduleRequest?.value)),
      ].filter((request) => request?.startsWith('.'));
      const targets = requests.map((request) => join(dirname(path), request ?? ''));
      return [path, [...new Set(targets)].filter((target) => known.has(target)).sort()];
    }),
  );
}
