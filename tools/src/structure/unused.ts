import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Measure } from './measures.ts';

interface Named {
  name: string;
  line?: number;
}

export interface KnipReport {
  issues: { file: string; files?: Named[]; exports?: Named[]; types?: Named[] }[];
}

/**
 * Returns the exports and files that no file imports. The data comes from knip with the configuration of the
 * repository.
 * @throws Error if knip fails
 */
export function unusedExports(root: string): Measure[] {
  const knip = join(root, 'node_modules/knip/bin/knip.js');
  const text = execFileSync(process.execPath, [knip, '--no-progress', '--no-exit-code', '--reporter', 'json'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  return measuresOfReport(JSON.parse(text) as KnipReport);
}

export function measuresOfReport({ issues }: KnipReport): Measure[] {
  const sorted = issues.toSorted((a, b) => (a.file < b.file ? -1 : 1));
  const unused = sorted.flatMap(({ file, exports = [], types = [] }) =>
    [...exports, ...types].map(({ name, line }) => ({ path: file, text: `${file}:${line} ${name}` })),
  );
  const files = sorted.filter(({ files: listed = [] }) => listed.length > 0);
  return [
    { id: 'unused-exports', title: 'Exports without an importer', found: unused },
    {
      id: 'unused-files',
      title: 'Files without an importer',
      found: files.map(({ file }) => ({ path: file, text: file })),
    },
  ];
}
