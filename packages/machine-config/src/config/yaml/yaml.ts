import { compareKeys } from './yaml-keys.ts';
import { printKey, printText } from './yaml-scalar.ts';

/** A value that YAML cannot hold. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
}

const FORBIDDEN = /[\u007f-\u0084\u0086-\u009f\ufffe\uffff]/;

/**
 * Prints JSON as the YAML that the original hashes: keys sorted, lists not indented, texts quoted where needed. Every
 * byte counts, see {@link renderedName}.
 * @throws YamlError for control characters
 */
export function printYaml(value: unknown): string {
  const pieces: string[] = [];
  const rest = printTo((piece) => pieces.push(piece), value);
  return pieces.length === 0 ? rest : pieces.join('') + rest;
}

/** Takes a piece of the text. */
export type YamlSink = (piece: string) => void;

/**
 * The same piece by piece: a text of megabytes is never there as a whole.
 * @returns what no sink has got yet
 * @throws YamlError for control characters
 */
export function printTo(sink: YamlSink, value: unknown): string {
  if (isFilledObject(value)) return printObject(sink, value, 0, '', false);
  if (isFilledList(value)) return printList(sink, value, 0, '', false);
  return line(printScalar(value, 2, 0));
}

/**
 * A text that grows is a tree of its pieces. While it is small it is gone before the collector has to move it; a whole
 * config of ten thousand files is moved again and again, which takes longer than the printing.
 */
const PIECE = 8192;

const isFilledObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
const isFilledList = (value: unknown): value is readonly unknown[] => Array.isArray(value) && value.length > 0;

const pads: string[] = [];
const pad = (width: number): string => {
  pads[width] ??= ' '.repeat(width);
  return pads[width];
};

/** Keys and their texts, for the few hundred names that occur again and again. */
const keyTexts = new Map<string, string>();

/** A key that fits on its line; undefined for one that stands after a `?`. */
function keyText(key: string): string | undefined {
  const known = keyTexts.get(key);
  if (known !== undefined) return known;
  const printed = printKey(cleanKey(key));
  if (printed !== undefined && keyTexts.size < 1000) keyTexts.set(key, printed);
  return printed;
}

/** Orders of keys that were found out: thousands of files have the same four. A step for each key, in the given order. */
interface KeyOrders {
  readonly next: Map<string, KeyOrders>;
  sorted?: readonly string[];
}

const keyOrders: KeyOrders = { next: new Map() };
let ordersKept = 0;

function sortedKeys(keys: readonly string[]): readonly string[] {
  let at = keyOrders;
  for (const key of keys) {
    let next = at.next.get(key);
    if (!next) {
      if (ordersKept >= 1000) return keys.toSorted(compareKeys);
      ordersKept += 1;
      next = { next: new Map() };
      at.next.set(key, next);
    }
    at = next;
  }
  at.sorted ??= keys.toSorted(compareKeys);
  return at.sorted;
}

/** Returns the text with the object after it: one text that grows is cheaper than a list of a hundred thousand pieces. */
function printObject(
  sink: YamlSink,
  fields: Readonly<Record<string, unknown>>,
  indent: number,
  before: string,
  inline: boolean,
): string {
  let text = before;
  let lead = inline ? '' : pad(indent);
  for (const key of sortedKeys(Object.keys(fields))) {
    const value = fields[key];
    const name = keyText(key);
    text += lead;
    lead = pad(indent);
    if (name === undefined) {
      text = printAfterLongKey(
        sink,
        value,
        indent,
        `${text}${line(`? ${printText(cleanKey(key), indent + 2, indent + 2)}`)}`,
      );
      continue;
    }
    text += `${name}:`;
    if (isFilledObject(value)) text = printObject(sink, value, indent + 2, `${text}\n`, false);
    else if (isFilledList(value)) text = printList(sink, value, indent, `${text}\n`, false);
    else text += line(` ${printScalar(value, indent + 2, indent + width(name) + 2)}`);
  }
  return text;
}

/** The value of a key that has a line of its own begins beside the colon, and so do objects and lists. */
function printAfterLongKey(sink: YamlSink, value: unknown, indent: number, before: string): string {
  const text = `${before}${pad(indent)}: `;
  if (isFilledObject(value)) return printObject(sink, value, indent + 2, text, true);
  if (isFilledList(value)) return printList(sink, value, indent + 2, text, true);
  return text + line(printScalar(value, indent + 2, indent + 2));
}

/** Ends a line. A block of lines may have ended it already, also with U+2028 or U+2029. */
function line(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last === 0x0a || last === 0x2028 || last === 0x2029 ? text : `${text}\n`;
}

/** Columns count characters. */
const width = (text: string): number => (/[\ud800-\udfff]/.test(text) ? [...text].length : text.length);

function printList(
  sink: YamlSink,
  entries: readonly unknown[],
  indent: number,
  before: string,
  inline: boolean,
): string {
  let text = before;
  let lead = inline ? '- ' : `${pad(indent)}- `;
  for (const entry of entries) {
    text += lead;
    lead = `${pad(indent)}- `;
    if (isFilledObject(entry)) text = printObject(sink, entry, indent + 2, text, true);
    else if (isFilledList(entry)) text = printList(sink, entry, indent + 2, text, true);
    else text += line(printScalar(entry, indent + 2, indent + 2));
    if (text.length < PIECE) continue;
    sink(text);
    text = '';
  }
  return text;
}

function printScalar(value: unknown, indent: number, column: number): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string') return printText(clean(value), indent, column);
  if (typeof value === 'number') return printNumber(value);
  if (typeof value === 'boolean') return String(value);
  return Array.isArray(value) ? '[]' : '{}';
}

const UNREADABLE = 'error converting JSON to YAML: yaml: ';

/**
 * The original writes JSON first and reads it as YAML: the reader refuses control characters, and takes U+0085 for the
 * end of a line. Halves of surrogate pairs are U+FFFD since the API server read them.
 */
function clean(text: string): string {
  if (!/[\u007f-\u009f\ud800-\udfff\ufffe\uffff]/.test(text)) return text;
  const whole = text.toWellFormed();
  if (FORBIDDEN.test(whole)) throw new YamlError(`${UNREADABLE}control characters are not allowed`);
  if (!whole.includes('\u0085')) return whole;
  if (/\u0085(---|\.\.\.)[ \u0085]/.test(whole))
    throw new YamlError(`${UNREADABLE}found unexpected document indicator`);
  return whole.replace(/ *\u0085[ \u0085]*/g, (breaks) => '\n'.repeat(breaks.replaceAll(' ', '').length - 1) || ' ');
}

/** A reader of YAML finds the colon of a key on the key's own line, and within this many characters of JSON. */
const KEY_CHARACTERS = 1024;

function cleanKey(key: string): string {
  if (key.length < 128 && !key.includes('\u0085')) return clean(key);
  const json = JSON.stringify(key).replace(/[<>&\u2028\u2029]/g, '\\u0000');
  if (key.includes('\u0085') || [...json].length > KEY_CHARACTERS) {
    throw new YamlError(`${UNREADABLE}did not find expected ',' or '}'`);
  }
  return clean(key);
}

/** Integers of 64 bits as they are, all else as Go prints a float64: with an exponent below -4 and from 6 on. */
function printNumber(value: number): string {
  if (Number.isSafeInteger(value)) return String(value);
  if (Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 64) return BigInt(value).toString();
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}
