import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { StatusError } from '@mcm/control-plane';
import { parseYamlText } from '@mcm/control-plane/yaml';
import { errorText, type KubeObject } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import { unknownFieldsOf } from './unknown-fields.ts';

const TEXT = /\.(ya?ml|json)$/;

const STDIN = '-';

interface Source {
  readonly name: string;
  readonly text: string;
}

/** Options for reading files. With `-R`, mcm also reads the files in subdirectories, as kubectl does. */
export interface Reading {
  readonly recursive?: boolean;
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

async function filesOf(path: string, { recursive = false }: Reading): Promise<readonly string[]> {
  const found = await stat(path).catch((error: unknown) => {
    throw new UserError(isMissing(error) ? `${path} does not exist` : `cannot read ${path}: ${errorText(error)}`);
  });
  if (!found.isDirectory()) return [path];
  const entries = await readdir(path, { recursive, withFileTypes: true });
  // Links count as files, because the files of a mounted ConfigMap are links.
  const files = entries.filter((entry) => !entry.isDirectory() && TEXT.test(entry.name));
  if (files.length === 0) throw new UserError(`${path} contains no file with the extension .json, .yaml or .yml`);
  return files.map((entry) => join(entry.parentPath, entry.name)).toSorted();
}

async function sourcesOf(path: string, stdin: NodeJS.ReadableStream, reading: Reading): Promise<readonly Source[]> {
  if (path === STDIN) return [{ name: 'standard input', text: await textOf(stdin) }];
  const files = await filesOf(path, reading);
  return Promise.all(files.map(async (name) => ({ name, text: await readFile(name, 'utf8') })));
}

const isObject = (value: unknown): value is KubeObject =>
  typeof value === 'object' && value !== null && 'kind' in value && 'metadata' in value;

const SEPARATOR = /^---(.*)$/gm;

/** Splits a text into YAML documents. As in kubectl, a line that starts with `---` separates two documents. */
export function documentsOf(text: string): readonly string[] {
  for (const [, rest = ''] of text.matchAll(SEPARATOR)) {
    if (!/^\s*(#|$)/.test(rest)) throw new UserError(`invalid YAML document separator: ${rest.trim()}`);
  }
  return text.split(/^---.*$/m).flatMap(jsonDocumentsOf);
}

/** Splits a sequence of JSON objects, such as the output of jq. */
function jsonDocumentsOf(text: string): readonly string[] {
  if (!text.trimStart().startsWith('{')) return [text];
  const documents: string[] = [];
  let [depth, start] = [0, 0];
  // The pattern matches a whole string at once, so braces inside of strings do not count.
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{') depth += 1;
    if (token !== '}') continue;
    depth -= 1;
    if (depth > 0) continue;
    documents.push(text.slice(start, index + 1));
    start = index + 1;
  }
  return text.slice(start).trim() === '' ? documents : [text];
}

function objectOf({ name, text }: Source): readonly KubeObject[] {
  const value = inFile(name, () => parseYamlText(text));
  if (value === null || value === undefined) return [];
  if (!isObject(value)) throw new UserError(`${name}: contains a YAML document that is not a Kubernetes object`);
  const items: unknown = 'items' in value ? value.items : undefined;
  const objects = Array.isArray(items) ? items.filter(isObject) : [value];
  for (const object of objects) {
    const unknown = unknownFieldsOf(object);
    if (unknown.length === 0) continue;
    const fields = unknown.map((field) => `unknown field "${field}"`).join(', ');
    throw new UserError(`${name}: ${object.kind} ${object.metadata?.name ?? ''}: ${fields}`);
  }
  return objects;
}

function inFile<T>(name: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof StatusError || error instanceof UserError) throw new UserError(`${name}: ${error.message}`);
    throw error;
  }
}

/**
 * Reads objects from files, from the YAML and JSON files in directories, and from standard input (`-`).
 *
 * Values have the meaning that they have for `kubectl apply`: `0644` is 420, and `yes` is true. As with strict
 * validation in the API server, an unknown field is an error.
 * @throws UserError with the name of the file, for example if it contains no object
 */
export async function readObjects(
  paths: readonly string[],
  reading: Reading = {},
  stdin: NodeJS.ReadableStream = process.stdin,
): Promise<readonly KubeObject[]> {
  if (paths.filter((path) => path === STDIN).length > 1)
    throw new UserError('standard input (-) can be given only once');
  const sources = (await Promise.all(paths.map((path) => sourcesOf(path, stdin, reading)))).flat();
  const objects = sources.flatMap(({ name, text }) =>
    inFile(name, () => documentsOf(text)).flatMap((document) => objectOf({ name, text: document })),
  );
  if (objects.length === 0) throw new UserError(`${namesOf(paths)} contains no objects`);
  return objects;
}

export const namesOf = (paths: readonly string[]): string =>
  paths.map((path) => (path === STDIN ? 'standard input' : path)).join(', ');
