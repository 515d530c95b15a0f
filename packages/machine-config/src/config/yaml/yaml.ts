import { compareKeys } from './yaml-keys.ts';
import { printKey, printText } from './yaml-scalar.ts';

export class YamlError extends Error {
  override readonly name = 'YamlError';
}

const FORBIDDEN = /[\u007f-\u0084\u0086-\u009f\ufffe\uffff]/;

/** Prints JSON as the YAML that the original hashes: sorted keys, lists without indent, and quotes where necessary. */
export function printYaml(value: unknown): string {
  const pieces: string[] = [];
  const rest = printTo((piece) => pieces.push(piece), value);
  return pieces.length === 0 ? rest : pieces.join('') + rest;
}

export type YamlSink = (piece: string) => void;

export function printTo(sink: YamlSink, value: unknown): string {
  if (isFilledObject(value)) return printObject(sink, value, 0, '', false);
  if (isFilledList(value)) return printList(sink, value, 0, '', false);
  return line(printScalar(value, 2, 0));
}

/**
 * JavaScript stores a growing string as a tree of objects, which the garbage collector must move. Therefore, the writer
 * passes on the text in pieces of about this length.
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

const keyTexts = new Map<string, string>();

/** Returns the YAML text of a key, or undefined for a key that must follow a `?`. */
function keyText(key: string): string | undefined {
  const known = keyTexts.get(key);
  if (known !== undefined) return known;
  const printed = printKey(cleanKey(key));
  if (printed !== undefined && keyTexts.size < 1000) keyTexts.set(key, printed);
  return printed;
}

/** A cache for the sorted keys of objects, because thousands of files have the same four keys. */
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

/** The value of a long key starts after the colon, even if the value is an object or a list. */
function printAfterLongKey(sink: YamlSink, value: unknown, indent: number, before: string): string {
  const text = `${before}${pad(indent)}: `;
  if (isFilledObject(value)) return printObject(sink, value, indent + 2, text, true);
  if (isFilledList(value)) return printList(sink, value, indent + 2, text, true);
  return text + line(printScalar(value, indent + 2, indent + 2));
}

/**
 * Ends the text with a line break. The text of a block scalar may already end with a line break, for example U+2028.
 */
function line(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last === 0x0a || last === 0x2028 || last === 0x2029 ? text : `${text}\n`;
}

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
 * Converts a text like the original, which writes the text as JSON and then reads the JSON as YAML. The YAML reader of
 * the original refuses control characters, and treats U+0085 as the end of a line. Unpaired surrogates become U+FFFD,
 * as in the API server.
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

const KEY_CHARACTERS = 1024;

function cleanKey(key: string): string {
  if (key.length < 128 && !key.includes('\u0085')) return clean(key);
  const json = JSON.stringify(key).replace(/[<>&\u2028\u2029]/g, '\\u0000');
  if (key.includes('\u0085') || [...json].length > KEY_CHARACTERS) {
    throw new YamlError(`${UNREADABLE}did not find expected ',' or '}'`);
  }
  return clean(key);
}

/**
 * Prints 64-bit integers unchanged, and all other numbers as Go prints a float64. Go uses scientific notation if the
 * exponent is below -4 or above 5.
 */
function printNumber(value: number): string {
  if (Number.isSafeInteger(value)) return String(value);
  if (Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 64) return BigInt(value).toString();
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}
