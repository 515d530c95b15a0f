import { badRequest } from '../apimachinery/errors/errors.ts';
import { parseJson } from '../apimachinery/objects/json.ts';
import type { StatusError } from '../apimachinery/objects/status.ts';
import type { StoredRecord } from '../store/record.ts';

/** A selection of records by the hash of a field. */
export type ShardSelector = (record: StoredRecord) => boolean;

const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;
const MASK = (1n << 64n) - 1n;
const LIMIT = 1n << 64n;

/** Returns the 64-bit FNV-1a hash of a text. */
export function shardHash(text: string): bigint {
  let hash = OFFSET;
  for (const byte of Buffer.from(text)) hash = ((hash ^ BigInt(byte)) * PRIME) & MASK;
  return hash;
}

type Field = 'uid' | 'namespace';

interface Range {
  readonly field: Field;
  readonly start: bigint;
  readonly end: bigint;
}

const RANGE =
  /^\s*shardRange\(\s*object\.metadata\.(?<field>uid|namespace)\s*,\s*(?<first>'|")(?<start>0x[0-9a-fA-F]{1,17})\k<first>\s*,\s*(?<second>'|")(?<end>0x[0-9a-fA-F]{1,17})\k<second>\s*\)\s*$/;

const invalid = (text: string, why: string): StatusError =>
  badRequest(`invalid shardSelector ${JSON.stringify(text)}: ${why}`);

function rangeOf(text: string, part: string): Range {
  const { field, start, end } = RANGE.exec(part)?.groups ?? {};
  if (field === undefined || start === undefined || end === undefined)
    throw invalid(
      text,
      "write shardRange(object.metadata.uid, '0xSTART', '0xEND') or shardRange(object.metadata.namespace, '0xSTART', '0xEND'), joined by ||",
    );
  const range = { field: field as Field, start: BigInt(start), end: BigInt(end) };
  if (range.start >= range.end || range.end > LIMIT)
    throw invalid(text, `the range from ${start} to ${end} must be between 0x0 and 0x10000000000000000, and not empty`);
  return range;
}

/** The hashes of the fields of a record. A record never changes, so the function computes each hash once. */
const hashes = new WeakMap<StoredRecord, Partial<Record<Field, bigint>>>();

function hashOf(record: StoredRecord, field: Field): bigint {
  const known = hashes.get(record) ?? {};
  hashes.set(record, known);
  known[field] ??= shardHash(field === 'namespace' ? record.namespace : uidOf(record));
  return known[field];
}

function uidOf(record: StoredRecord): string {
  const { metadata } = parseJson(record.json) as { readonly metadata: { readonly uid?: string } };
  return metadata.uid ?? '';
}

/**
 * Parses the `shardSelector` of a query: ranges of hashes, joined by `||`. A range includes its start, but excludes its
 * end. Without a selector, the result is undefined.
 * @throws StatusError 400 for an invalid selector
 */
export function parseShardSelector(text: string): ShardSelector | undefined {
  if (text === '') return undefined;
  const ranges = text.split('||').map((part) => rangeOf(text, part));
  return (record) =>
    ranges.some(({ field, start, end }) => {
      const hash = hashOf(record, field);
      return hash >= start && hash < end;
    });
}
