import { bytesOf, type SecretValue } from './secret-value.ts';

/**
 * The normal form of a text. In the normal form, secrets are easier to find.
 *
 * - A normal form has no white space and no escape sequences of terminals, XML, JSON, URLs and programming languages.
 * - All letters of a normal form are in lower case.
 * - Each character of a normal form is one byte of UTF-8, because URLs escape single bytes.
 */
export interface NormalForm {
  readonly text: string;
  readonly from: Uint32Array;
  readonly to: Uint32Array;
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

const PART =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what terminals send
  /\u001b\[[0-9;?]*[A-Za-z]|&(?:#x?[0-9a-f]{1,6}|amp|lt|gt|quot|apos|nbsp);|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|%[0-9a-f]{2}|\\[nrtbfv0"'\\/]|\s+/gi;

const codeOf = (text: string, radix: number): string => {
  const code = Number.parseInt(text, radix);
  return code <= 0x10ffff ? String.fromCodePoint(code) : '';
};

function meaningOf(part: string): string {
  const first = part[0];
  if (first === '\u001b') return '';
  if (first === '%' || (first === '\\' && /^x/i.test(part[1] ?? ''))) {
    return String.fromCharCode(Number.parseInt(part.slice(first === '%' ? 1 : 2), 16));
  }
  if (first === '\\' && part.length === 6) return utf8(codeOf(part.slice(2), 16));
  if (first === '\\') return /["'\\/]/.test(part[1] ?? '') ? (part[1] ?? '') : '';
  if (first === '&' && part[1] === '#') {
    const hex = /^x/i.test(part[2] ?? '');
    return utf8(codeOf(part.slice(hex ? 3 : 2, -1), hex ? 16 : 10));
  }
  return first === '&' ? (NAMED[part.slice(1, -1).toLowerCase()] ?? part) : '';
}

const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/** The redaction decodes at most this number of nested escapes, such as JSON in JSON in XML. */
const DEEPEST = 4;

/** The normal form is never longer than the text in UTF-8. */
class Builder {
  readonly #chunks: string[] = [];
  readonly #from: Uint32Array;
  readonly #to: Uint32Array;
  #length = 0;

  constructor(capacity: number) {
    this.#from = new Uint32Array(capacity);
    this.#to = new Uint32Array(capacity);
  }

  add(bytes: string, from: number, to: number): void {
    this.#chunks.push(bytes);
    for (let i = 0; i < bytes.length; i++, this.#length++) {
      this.#from[this.#length] = from;
      this.#to[this.#length] = to;
    }
  }

  copy(bytes: string, placeOf: (index: number) => readonly [from: number, to: number]): void {
    this.#chunks.push(bytes);
    for (let i = 0; i < bytes.length; i++, this.#length++) {
      const [from, to] = placeOf(i);
      this.#from[this.#length] = from;
      this.#to[this.#length] = to;
    }
  }

  end(): NormalForm {
    return { text: this.#chunks.join(''), from: this.#from, to: this.#to };
  }
}

function once({ text, from, to }: NormalForm): NormalForm {
  const builder = new Builder(text.length);
  let done = 0;
  const keep = (until: number): void => {
    const start = done;
    if (until > start) builder.copy(text.slice(start, until), (i) => [from[start + i] ?? 0, to[start + i] ?? 0]);
  };
  for (const { 0: part, index } of text.matchAll(PART)) {
    keep(index);
    done = index + part.length;
    builder.add(meaningOf(part).replaceAll(/\s/g, ''), from[index] ?? 0, to[done - 1] ?? 0);
  }
  keep(text.length);
  return builder.end();
}

const RUNS = /[\0-\x7f]+|[^\0-\x7f]/gu;

function bytesWithPlaces(text: string): NormalForm {
  const builder = new Builder(Buffer.byteLength(text));
  for (const { 0: part, index } of text.matchAll(RUNS)) {
    if (part < '\u0080') builder.copy(part, (i) => [index + i, index + i + 1]);
    else builder.add(utf8(part), index, index + part.length);
  }
  return builder.end();
}

export function normalForm(text: string): NormalForm {
  let form = bytesWithPlaces(text);
  for (let round = 0; round < DEEPEST; round++) {
    const next = once(form);
    const same = next.text.length === form.text.length;
    form = next;
    if (same) break;
  }
  return { ...form, text: form.text.toLowerCase() };
}

/** The redaction ignores shorter encoded values, because they occur in encoded text by chance. */
const SHORTEST_ENCODED = 6;

/**
 * Returns the search texts for a secret: its plain text, its hexadecimal text, and its base64 text at each alignment.
 */
export function needlesOf(value: SecretValue, shortest: number): readonly string[] {
  const bytes = bytesOf(value);
  const text = typeof value === 'string' ? normalForm(value).text : '';
  const plain = text.length >= shortest ? [text] : [];
  if (bytes.length < SHORTEST_ENCODED) return plain;
  const hex = bytes.toString('hex');
  const pairs = hex.match(/../g) ?? [];
  return [...plain, hex, ...[':', '-', ',', ',0x'].map((between) => pairs.join(between)), ...inBase64(bytes)];
}

/**
 * Returns base64 texts of a value for all three alignments, without the characters that depend on neighboring bytes.
 */
function inBase64(bytes: Buffer): readonly string[] {
  return [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const inner = encoded
      .slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
      .toLowerCase();
    // One search text has `-` and `_` instead of `+` and `/`, as in URL-safe base64.
    return inner.length < SHORTEST_ENCODED ? [] : [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** Replaces each part of a text by `***` if the normal form of the part contains a needle. */
export function hideNeedles(text: string, needles: Iterable<string>): string {
  const form = normalForm(text);
  const ranges: [number, number][] = [];
  for (const needle of needles) {
    for (let at = form.text.indexOf(needle); at >= 0; at = form.text.indexOf(needle, at + 1)) {
      ranges.push([form.from[at] ?? 0, form.to[at + needle.length - 1] ?? text.length]);
    }
  }
  ranges.sort(([a], [b]) => a - b);
  let result = '';
  let done = 0;
  for (const [from, to] of ranges) {
    if (from >= done) result += `${text.slice(done, from)}***`;
    done = Math.max(done, to);
  }
  return result + text.slice(done);
}
