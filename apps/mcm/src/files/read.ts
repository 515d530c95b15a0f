import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { StatusError } from '@mcm/control-plane';
import { parseYamlText } from '@mcm/control-plane/yaml';
import type { KubeObject } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import { unknownFieldsOf } from './unknown-fields.ts';

const TEXT = /\.(ya?ml|json)$/;

/** The path of standard input, as in kubectl. */
const STDIN = '-';

/** A text with the name of its file for messages. */
interface Source {
  readonly name: string;
  readonly text: string;
}

async function filesOf(path: string): Promise<readonly string[]> {
  const found = await stat(path).catch(() => undefined);
  if (!found) throw new UserError(`${path} does not exist`);
  if (!found.isDirectory()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && TEXT.test(entry.name));
  return files.map((entry) => join(entry.parentPath, entry.name)).toSorted();
}

async function sourcesOf(path: string, stdin: NodeJS.ReadableStream): Promise<readonly Source[]> {
  if (path === STDIN) return [{ name: 'standard input', text: await textOf(stdin) }];
  return Promise.all((await filesOf(path)).map(async (name) => ({ name, text: await readFile(name, 'utf8') })));
}

const isObject = (value: unknown): value is KubeObject =>
  typeof value === 'object' && value !== null && 'kind' in value && 'metadata' in value;

/** The documents of a text. As in kubectl, only a line of `---` alone separates them. */
export const documentsOf = (text: string): readonly string[] => text.split(/^---[ \t\r]*$/m);

function objectOf({ name, text }: Source): readonly KubeObject[] {
  const value = parsed(name, text);
  if (value === null || value === undefined) return [];
  if (!isObject(value)) throw new UserError(`${name}: contains a document that is not a Kubernetes object`);
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

function parsed(name: string, text: string): unknown {
  try {
    return parseYamlText(text);
  } catch (error) {
    if (error instanceof StatusError) throw new UserError(`${name}: ${error.message}`);
    throw error;
  }
}

/**
 * Reads the objects of files, of the YAML and JSON files in directories, and of standard input (`-`).
 *
 * The values are those of `kubectl apply`: `0644` is 420 and `yes` is true. A field that the kind does not have is refused, as the
 * API server refuses it with strict validation.
 * @throws UserError with the name of the file
 */
export async function readObjects(
  paths: readonly string[],
  stdin: NodeJS.ReadableStream = process.stdin,
): Promise<readonly KubeObject[]> {
  if (paths.filter((path) => path === STDIN).length > 1) throw new UserError('- can be given only once');
  const sources = (await Promise.all(paths.map((path) => sourcesOf(path, stdin)))).flat();
  return sources.flatMap(({ name, text }) =>
    documentsOf(text).flatMap((document) => objectOf({ name, text: document })),
  );
}
