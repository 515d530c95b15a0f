import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeObject } from '@mcm/kube';
import { parseAllDocuments } from 'yaml';
import { UserError } from '../command/errors.ts';

const TEXT = /\.(ya?ml|json)$/;

async function filesOf(path: string): Promise<readonly string[]> {
  const found = await stat(path).catch(() => undefined);
  if (!found) throw new UserError(`${path} does not exist`);
  if (!found.isDirectory()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && TEXT.test(entry.name));
  return files.map((entry) => join(entry.parentPath, entry.name)).toSorted();
}

const isObject = (value: unknown): value is KubeObject =>
  typeof value === 'object' && value !== null && 'kind' in value && 'metadata' in value;

function objectsIn(file: string, text: string): readonly KubeObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = 'errors' in document ? document.errors : [];
    if (error) throw new UserError(`${file}: ${error.message}`);
    const value: unknown = document.toJS();
    if (value === null || value === undefined) return [];
    if (!isObject(value)) throw new UserError(`${file}: contains a document that is not a Kubernetes object`);
    const items: unknown = 'items' in value ? value.items : undefined;
    return Array.isArray(items) ? items.filter(isObject) : [value];
  });
}

/** Reads all objects of files, and of the YAML and JSON files in directories. Throws `UserError` with the name of the file. */
export async function readObjects(paths: readonly string[]): Promise<readonly KubeObject[]> {
  const files = (await Promise.all(paths.map(filesOf))).flat();
  const texts = await Promise.all(files.map(async (file) => objectsIn(file, await readFile(file, 'utf8'))));
  return texts.flat();
}
