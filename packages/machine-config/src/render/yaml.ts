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
  const out: string[] = [];
  if (isFilledObject(value)) printObject(value, 0, out, false);
  else if (isFilledList(value)) printList(value, 0, out, false);
  else out.push(printScalar(value, 0, 0), '\n');
  return out.join('');
}

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

/** Orders of keys that were found out: thousands of files have the same four. */
const keyOrders = new Map<string, readonly string[]>();

function sortedKeys(keys: readonly string[]): readonly string[] {
  if (keys.length < 2) return keys;
  const id = keys.join('\n');
  const known = keyOrders.get(id);
  if (known) return known;
  const sorted = keys.toSorted(compareKeys);
  if (keyOrders.size < 1000) keyOrders.set(id, sorted);
  return sorted;
}

function printObject(fields: Readonly<Record<string, unknown>>, indent: number, out: string[], inline: boolean): void {
  const keys = sortedKeys(Object.keys(fields));
  let first = inline;
  for (const key of keys) {
    const value = fields[key];
    const name = keyText(key);
    out.push(first ? '' : pad(indent), name, ':');
    first = false;
    if (isFilledObject(value)) {
      out.push('\n');
      printObject(value, indent + 2, out, false);
    } else if (isFilledList(value)) {
      out.push('\n');
      printList(value, indent, out, false);
    } else {
      out.push(' ', printScalar(value, indent + 2, indent + name.length + 2), '\n');
    }
  }
}

function printList(entries: readonly unknown[], indent: number, out: string[], inline: boolean): void {
  let first = inline;
  for (const entry of entries) {
    out.push(first ? '- ' : `${pad(indent)}- `);
    first = false;
    if (isFilledObject(entry)) printObject(entry, indent + 2, out, true);
    else if (isFilledList(entry)) printList(entry, indent + 2, out, true);
    else out.push(printScalar(entry, indent + 2, indent + 2), '\n');
  }
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
