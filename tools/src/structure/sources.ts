import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ParseResult, parseSync } from 'oxc-parser';

export interface Source {
  path: string;
  text: string;
  parsed: ParseResult;
}

/** Returns true if only tests use a file. A file that only tests use does not count as a source file of its folder. */
export function isTest(path: string): boolean {
  return /[./]test(ing|data)?(\.ts$|\/)|\/test-[^/]+\.ts$/.test(`/${path}`);
}

/** Parses all TypeScript files in git below `root`, sorted by path. */
export function readSources(root: string): Source[] {
  const listed = execFileSync('git', ['ls-files', '-z', '*.ts'], { cwd: root, encoding: 'utf8' });
  const paths = listed.split('\0').filter((path) => path !== '' && !path.endsWith('.d.ts'));
  return paths.sort().map((path) => parseSource(path, readFileSync(join(root, path), 'utf8')));
}

/** Throws an error with the name of the file if it is not valid TypeScript. */
export function parseSource(path: string, text: string): Source {
  const parsed = parseSync(path, text);
  const [error] = parsed.errors;
  if (error !== undefined) throw new Error(`${path}: ${error.message}`);
  return { path, text, parsed };
}

/** Returns the files that each file imports by a relative path. */
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
