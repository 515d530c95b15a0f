import { readFile } from 'node:fs/promises';
import type { YAMLParseError } from 'yaml';
import { errorText } from '../base/error-text.ts';
import { nearest } from '../base/nearest.ts';
import { ConfigError } from '../credentials/cluster-config.ts';
import type { Flag, Flags } from './flag.ts';
import type { Given } from './given.ts';

/** The maximum size of a configuration file. */
const LARGEST_BYTES = 1_048_576;

async function textOf(path: string): Promise<string> {
  try {
    const bytes = await readFile(path);
    if (bytes.length > LARGEST_BYTES)
      throw new Error(`the file has ${bytes.length} bytes, more than the limit of ${LARGEST_BYTES}`);
    return bytes.toString('utf8');
  } catch (error) {
    throw new ConfigError(`--config=${path}: cannot be read: ${errorText(error)}`);
  }
}

function sentenceOf({ code, message, pos }: YAMLParseError, text: string): string {
  if (code === 'MULTIPLE_DOCS') return 'a second YAML document starts here; put all settings into one document';
  const [word = ''] = text.slice(pos[0]).split(/[:\s]/, 1);
  if (code === 'DUPLICATE_KEY') return `${word}: occurs twice; keep one of the entries`;
  return (message.split('\n', 1)[0] ?? '').replace(/ at line \d+, column \d+:?$/, '');
}

const isSimple = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);

/** Returns the value as the text of its flag, or undefined for a value that the flag does not accept. */
function flagText(value: unknown, flag: Flag<unknown> | undefined): string | undefined {
  if (flag?.pairs && typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const pairs = Object.entries(value);
    return pairs.every(([, of]) => isSimple(of)) ? pairs.map(([key, of]) => `${key}=${of}`).join(',') : undefined;
  }
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const isList = Array.isArray(value) && value.every((item) => typeof item === 'string' || typeof item === 'number');
  return isList ? value.join(',') : undefined;
}

export interface FileSettings {
  readonly given: ReadonlyMap<string, Given>;
  readonly problems: readonly string[];
}

/** Reads a YAML file that maps flag names to values. */
export async function readConfigFile(path: string, flags: Flags): Promise<FileSettings> {
  const { isMap, isScalar, LineCounter, parseDocument } = await import('yaml'); // Only --config needs the library.
  const text = await textOf(path);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const at = (offset: number | undefined): string => `${path}:${lines.linePos(offset ?? 0).line}`;
  const [broken] = document.errors;
  if (broken !== undefined) throw new ConfigError(`${at(broken.pos[0])}: ${sentenceOf(broken, text)}`);
  if (document.contents === null) return { given: new Map(), problems: [] };
  if (!isMap(document.contents)) throw new ConfigError(`${at(0)}: must be a mapping of flag names to values`);
  const known = new Set(Object.entries(flags).flatMap(([name, flag]) => [name, ...Object.keys(flag.deprecated ?? {})]));
  const given = new Map<string, Given>();
  const problems: string[] = [];
  for (const { key, value } of document.contents.items) {
    const filePosition = at(isScalar(key) ? key.range?.[0] : undefined);
    const name = String(isScalar(key) ? key.value : key);
    const text = flagText(isScalar(value) ? value.value : document.createNode(value).toJSON(), flags[name]);
    if (!known.has(name) || name === 'config') {
      const meant = nearest(name, known);
      const hint = meant === undefined ? 'see --help for the flags; omit the dashes' : `did you mean ${meant}?`;
      problems.push(`${filePosition}: ${name}: unknown setting${name === 'config' ? ' in a file' : `; ${hint}`}`);
    } else if (text === undefined) {
      problems.push(`${filePosition}: ${name}: must be a string, a number, true or false, or a list of strings`);
    } else given.set(name, { text, source: `${filePosition}: ${name}` });
  }
  return { given, problems };
}
