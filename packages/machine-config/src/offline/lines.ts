import { createHash } from 'node:crypto';
import { ignitionOf } from '../config/parsed.ts';
import { decodeContents, type IgnitionFile } from '../ignition/index.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';

/** The lines of a config, by part. */
export type ConfigParts = ReadonlyMap<string, readonly string[]>;

const PRIVATE = 0o077;
const DEFAULT_MODE = 0o644;

/** Returns the content of a file. */
function contentOf({ contents, mode = DEFAULT_MODE }: IgnitionFile): readonly string[] {
  if (contents?.source === undefined) return ['(content of the existing file)'];
  if (!contents.source.startsWith('data:')) return [`(from ${contents.source})`];
  const bytes = decodeContents(contents.source, contents.compression);
  const text = bytes.toString('utf8');
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
  if ((mode & PRIVATE) === 0) return [`(private, ${bytes.length} bytes, sha256 ${digest})`];
  if (text.includes('\0') || text.includes('\uFFFD')) return [`(binary, ${bytes.length} bytes, sha256 ${digest})`];
  return text.replace(/\n$/, '').split('\n');
}

const linesOf = (value: unknown): readonly string[] => JSON.stringify(value, undefined, 2).split('\n');

/** Returns the lines of all parts of a config, with decoded contents. */
export function configParts(config: MachineConfig): ConfigParts {
  const { config: _raw, ...rest } = config.spec ?? {};
  const { storage = {}, systemd = {}, ignition: _version, ...sections } = ignitionOf(config) ?? {};
  const { files = [], ...otherStorage } = storage;
  const parts = new Map<string, readonly string[]>();
  for (const [field, value] of Object.entries(rest)) {
    const empty = value === '' || value === false || value === null || (Array.isArray(value) && value.length === 0);
    if (!empty) parts.set(field, Array.isArray(value) ? value.map(String) : [String(value)]);
  }
  for (const file of files) {
    const mode = (file.mode ?? DEFAULT_MODE).toString(8).padStart(4, '0');
    parts.set(`file ${file.path}`, [`mode ${mode}`, ...contentOf(file)]);
  }
  for (const { name, enabled, mask, contents, dropins = [] } of systemd.units ?? []) {
    const state = [...(enabled === undefined ? [] : [`enabled ${enabled}`]), ...(mask ? ['masked'] : [])];
    parts.set(`unit ${name}`, [...state, ...textLines(contents)]);
    for (const dropin of dropins) parts.set(`unit ${name} drop-in ${dropin.name}`, textLines(dropin.contents));
  }
  for (const [section, value] of Object.entries({ ...otherStorage, ...sections })) parts.set(section, linesOf(value));
  return new Map([...parts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const textLines = (text: string | undefined): readonly string[] =>
  text === undefined ? [] : text.replace(/\n$/, '').split('\n');
