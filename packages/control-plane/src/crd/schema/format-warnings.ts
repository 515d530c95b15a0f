import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { isKnownFormat } from '../../schema/formats.ts';
import { type Fields, record, records, text } from './fields.ts';
import { childrenOf, junctorsOf, MAX_DEPTH } from './walk.ts';

function collectFormats(schema: Fields, found: Set<string>, depth = 0): void {
  if (depth > MAX_DEPTH) return;
  const format = text(schema.format);
  if (format !== '' && !isKnownFormat(format, text(schema.type))) found.add(format);
  for (const below of [...junctorsOf(schema, ''), ...childrenOf(schema, '')]) {
    collectFormats(below.schema, found, depth + 1);
  }
}

function unknownFormats(crd: ApiObject | undefined): ReadonlySet<string> {
  const found = new Set<string>();
  for (const version of records(record(crd?.spec).versions)) {
    const schema = record(version.schema).openAPIV3Schema;
    if (isRecord(schema)) collectFormats(schema, found);
  }
  return found;
}

/** Returns a warning for each format that the server does not check. */
export function formatWarnings(crd: ApiObject, old: ApiObject | undefined): string[] {
  const known = unknownFormats(old);
  return [...unknownFormats(crd)]
    .filter((format) => !known.has(format))
    .map((format) => `unrecognized format ${JSON.stringify(format)}`);
}
