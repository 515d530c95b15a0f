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
  return `${printScalar(value, 0, 0)}\n`;
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

function keyText(key: string): string {
  const known = keyTexts.get(key);
  if (known !== undefined) return known;
  const printed = printKey(clean(key));
  if (keyTexts.size < 1000) keyTexts.set(key, printed);
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
    text += `${lead}${name}:`;
    lead = pad(indent);
    if (isFilledObject(value)) text = printObject(sink, value, indent + 2, `${text}\n`, false);
    else if (isFilledList(value)) text = printList(sink, value, indent, `${text}\n`, false);
    else text += ` ${printScalar(value, indent + 2, indent + name.length + 2)}\n`;
  }
  return text;
}

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
    else text += `${printScalar(entry, indent + 2, indent + 2)}\n`;
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

/** The text goes through a YAML reader on its way: it refuses control characters and folds the next-line character. */
function clean(text: string): string {
  if (!/[\u007f-\u009f\ufffe\uffff]/.test(text)) return text;
  if (FORBIDDEN.test(text))
    throw new YamlError('error converting JSON to YAML: yaml: control characters are not allowed');
  return text.replace(/[ \t]*\u0085[ \t]*/g, ' ');
}

/** Integers of 64 bits as they are, others as Go prints a float64. */
function printNumber(value: number): string {
  if (Number.isSafeInteger(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return BigInt(value).toString();
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 21) return String(value).includes('e') ? value.toFixed(20) : goFixed(value, power);
  return scientific(digits, power);
}

const scientific = (digits: string, power: number): string =>
  `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;

/** Go turns to exponents from a million million million on for integers, from a million on for fractions. */
function goFixed(value: number, power: number): string {
  if (!Number.isInteger(value)) return power < 21 ? String(value) : value.toExponential();
  const [digits = ''] = value.toExponential().split('e');
  return scientific(digits, power);
}
