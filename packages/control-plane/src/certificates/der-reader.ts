export interface DerValue {
  readonly tag: number;
  readonly bytes: Buffer;
  readonly content: Buffer;
}

export class DerError extends Error {
  override readonly name = 'DerError';
}

/** @throws DerError if the bytes do not start with a valid DER value */
export function readValue(bytes: Buffer): DerValue {
  const [tag, first] = bytes;
  if (tag === undefined || first === undefined) throw new DerError('asn1: syntax error: data truncated');
  let length = first;
  let start = 2;
  if (first >= 0x80) {
    const size = first & 0x7f;
    if (size === 0 || size > 4 || bytes.length < 2 + size) throw new DerError('asn1: structure error: length');
    length = bytes.readUIntBE(2, size);
    start = 2 + size;
  }
  const end = start + length;
  if (bytes.length < end) throw new DerError('asn1: syntax error: data truncated');
  return { tag, bytes: bytes.subarray(0, end), content: bytes.subarray(start, end) };
}

/**
 * Reads the values in a SEQUENCE, a SET or any other constructed value.
 * @throws DerError if the content is not a list of valid DER values
 */
export function readAll(content: Buffer): DerValue[] {
  const values: DerValue[] = [];
  for (let rest = content; rest.length > 0; ) {
    const value = readValue(rest);
    values.push(value);
    rest = rest.subarray(value.bytes.length);
  }
  return values;
}

/** @throws DerError if the value is no valid OBJECT IDENTIFIER */
export function readOid({ tag, content }: DerValue): string {
  const [first] = content;
  if (tag !== 0x06 || first === undefined) throw new DerError('asn1: structure error: no object identifier');
  const arcs = [Math.min(Math.floor(first / 40), 2)];
  arcs.push(first - (arcs[0] ?? 0) * 40);
  let arc = 0;
  for (const byte of content.subarray(1)) {
    arc = arc * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      arcs.push(arc);
      arc = 0;
    }
  }
  return arcs.join('.');
}

/** Reads the text of a string in DER: UTF8String, PrintableString, IA5String or BMPString. */
export function readText({ tag, content }: DerValue): string {
  if (tag !== 0x1e) return content.toString('utf8');
  const swapped = Buffer.from(content);
  return swapped.length % 2 === 0 ? swapped.swap16().toString('utf16le') : '';
}
