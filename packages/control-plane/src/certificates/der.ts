/** Writes values in the encoding DER (ITU-T X.690). */

const header = (tag: number, length: number): Buffer => {
  if (length < 0x80) return Buffer.from([tag, length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([tag, 0x80 | bytes.length, ...bytes]);
};

const value = (tag: number, ...contents: Uint8Array[]): Buffer => {
  const body = Buffer.concat(contents);
  return Buffer.concat([header(tag, body.length), body]);
};

export const sequence = (...items: Uint8Array[]): Buffer => value(0x30, ...items);
export const set = (...items: Uint8Array[]): Buffer => value(0x31, ...items);
export const octets = (bytes: Uint8Array): Buffer => value(0x04, bytes);
export const bits = (bytes: Uint8Array, unused = 0): Buffer => value(0x03, Buffer.from([unused]), bytes);
export const utf8 = (text: string): Buffer => value(0x0c, Buffer.from(text));
export const boolean = (yes: boolean): Buffer => value(0x01, Buffer.from([yes ? 0xff : 0]));
export const explicit = (tag: number, ...items: Uint8Array[]): Buffer => value(0xa0 | tag, ...items);
/** Replaces the tag of a value by the implicit tag `[n]`. */
export const implicit = (tag: number, bytes: Uint8Array): Buffer => value(0x80 | tag, bytes);

/** Encodes a positive integer in big-endian order. */
export function integer(bytes: Uint8Array | number): Buffer {
  const raw = typeof bytes === 'number' ? Buffer.from([bytes]) : Buffer.from(bytes);
  return (raw[0] ?? 0) & 0x80 ? value(0x02, Buffer.from([0]), raw) : value(0x02, raw);
}

/** Writes an OBJECT IDENTIFIER, such as `1.2.840.10045.4.3.2`. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const septets = [arc % 128];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      septets.unshift((left % 128) | 0x80);
    bytes.push(...septets);
  }
  return value(0x06, Buffer.from(bytes));
}

/** Encodes a time for a certificate. From the year 2050 on, certificates use the longer time format. */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]/g, '').slice(0, 14);
  return date.getUTCFullYear() < 2050
    ? value(0x17, Buffer.from(`${digits.slice(2)}Z`))
    : value(0x18, Buffer.from(`${digits}Z`));
}
