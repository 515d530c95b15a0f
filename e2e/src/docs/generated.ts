import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deployFiles } from '@mcm/cli';
import { apiReportFiles } from './api-report.ts';
import { dependencyReferenceFiles } from './dependency-reference.ts';
import { fieldReferenceFiles } from './field-reference.ts';
import { flagReferenceFiles, programFlags } from './flag-reference.ts';
import { folderReferenceFiles } from './folder-reference.ts';
import { keyReferenceFiles } from './key-reference.ts';
import { metricReferenceFiles } from './metric-reference.ts';
import { providerReferenceFiles } from './provider-reference.ts';
import { ROOT } from './sources.ts';
import { wordReferenceFiles } from './word-reference.ts';

/** Returns all generated pages and manifests, by their path in the workspace. */
export const generatedPages = (): ReadonlyMap<string, string> =>
  new Map([
    ...providerReferenceFiles(),
    ...flagReferenceFiles(),
    ...keyReferenceFiles(),
    ...metricReferenceFiles(),
    ...fieldReferenceFiles(),
    ...wordReferenceFiles(),
    ...apiReportFiles(),
    ...dependencyReferenceFiles(),
    ...folderReferenceFiles(),
    ...deployFiles(programFlags()),
  ]);

/** Returns the paths of generated files whose content is outdated. */
export const stalePages = (pages = generatedPages()): readonly string[] =>
  [...pages].filter(([path, text]) => read(join(ROOT, path)) !== text).map(([path]) => path);

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** @returns the paths of the written files. */
export function writePages(): readonly string[] {
  const pages = generatedPages();
  const stale = stalePages(pages);
  for (const path of stale) {
    mkdirSync(dirname(join(ROOT, path)), { recursive: true });
    writeFileSync(join(ROOT, path), pages.get(path) ?? '');
  }
  return stale;
}
