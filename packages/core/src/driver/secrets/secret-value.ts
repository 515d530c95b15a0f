import { gunzipSync } from 'node:zlib';

export type SecretValue = string | Uint8Array;
export type SecretValues = Readonly<Record<string, SecretValue>>;

/** The redaction does not search compressed texts that are larger than this limit. */
const MOST_UNPACKED = 4 * 1_024 * 1_024;
const GZIP = [0x1f, 0x8b];

/** Returns the bytes of a value. The bytes of a value may share its memory. */
export const bytesOf = (value: SecretValue): Buffer =>
  typeof value === 'string'
    ? Buffer.from(value, 'utf8')
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength);

/** Returns true if the bytes are valid UTF-8, as most user data is. */
export function isText(bytes: Uint8Array): boolean {
  return bytesOf(bytes).compare(Buffer.from(bytesOf(bytes).toString('utf8'), 'utf8')) === 0;
}

const known = new WeakMap<Uint8Array, readonly string[]>();

/** Returns the texts of a secret value that a VM may show on its console. */
export function textsOf(value: SecretValue): readonly string[] {
  if (typeof value === 'string') return [value];
  const before = known.get(value);
  if (before) return before;
  const inner = unpackedText(value);
  const texts = [bytesOf(value).toString('utf8'), ...(inner === undefined ? [] : [inner])];
  known.set(value, texts);
  return texts;
}

/**
 * Returns the decompressed text of gzip data. Returns undefined for data that is not gzip, and for a text of more than
 * 4 MiB.
 */
export function unpackedText(value: Uint8Array): string | undefined {
  if (!GZIP.every((byte, i) => value[i] === byte)) return undefined;
  try {
    return gunzipSync(value, { maxOutputLength: MOST_UNPACKED }).toString('utf8');
  } catch {
    return undefined;
  }
}
