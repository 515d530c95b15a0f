import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { TemplateTree } from './tree.ts';

/** Loads the templates of a directory. */
export async function loadTemplates(directory: string): Promise<TemplateTree> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.'));
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).toSorted();
  const read = async (path: string) =>
    [relative(directory, path).split(sep).join('/'), await readFile(path, 'utf8')] as const;
  return new Map(await Promise.all(paths.map(read)));
}
