import { goQuote } from '../../../apimachinery/errors/schema-causes.ts';
import { type CelMap, Duration, equal, isMap, order, Timestamp, Uint } from '../runtime/values.ts';
import {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  param,
  STRING,
  TIMESTAMP,
  UINT,
} from '../types/types.ts';
import { fail, fn, method, type Overload, toIndex } from './overload.ts';
import { printDuration, printTimestamp, regExp } from './standard.ts';

const A = param('A');
const chars = (text: string): string[] => [...text];

function charAt(text: string, index: bigint): string {
  const list = chars(text);
  if (index < 0n || index > BigInt(list.length)) return fail(`index out of range: ${index}`);
  return list[toIndex(index)] ?? '';
}

function substring(text: string, from: bigint, to?: bigint): string {
  const list = chars(text);
  const end = to ?? BigInt(list.length);
  if (from < 0n || end > BigInt(list.length) || from > end)
    return fail(`invalid substring range. start: ${from}, end: ${end}`);
  return list.slice(toIndex(from), toIndex(end)).join('');
}

function indexIn(text: string, part: string, from = 0n): bigint {
  const list = chars(text);
  if (from < 0n || from > BigInt(list.length)) return fail(`index out of range: ${from}`);
  const before = list.slice(0, toIndex(from)).join('').length;
  const at = text.indexOf(part, before);
  return at < 0 ? -1n : BigInt(chars(text.slice(0, at)).length);
}

function lastIndexIn(text: string, part: string, to?: bigint): bigint {
  const limit = to === undefined ? text.length : chars(text).slice(0, toIndex(to)).join('').length;
  const at = text.lastIndexOf(part, limit);
  return at < 0 ? -1n : BigInt(chars(text.slice(0, at)).length);
}

function replace(text: string, old: string, by: string, limit = -1n): string {
  let result = text;
  if (limit < 0n) return text.replaceAll(old, by.replaceAll('$', '$$$$'));
  let from = 0;
  for (let count = 0n; count < limit; count++) {
    const at = result.indexOf(old, from);
    if (at < 0 || from > result.length) break;
    result = result.slice(0, at) + by + result.slice(at + old.length);
    from = at + by.length + (old === '' ? 1 : 0);
  }
  return result;
}

function split(text: string, separator: string, limit = -1n): string[] {
  if (limit === 0n) return [];
  const parts = separator === '' ? chars(text) : text.split(separator);
  if (limit < 0n || BigInt(parts.length) <= limit) return parts;
  const count = toIndex(limit);
  return [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)];
}

/** Formats a value for the verb `%s` of the CEL function `format`. */
function print(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `[${value.map(print).join(', ')}]`;
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Timestamp) return printTimestamp(value);
  if (value instanceof Duration) return printDuration(value);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (isMap(value)) return printMap(value);
  return String(value);
}

const printMap = (map: CelMap): string =>
  `{${map
    .keys()
    .map((key) => `${print(key)}: ${print(map.get(key))}`)
    .sort()
    .join(', ')}}`;

const wholeOf = (value: unknown): bigint =>
  typeof value === 'bigint' ? value : value instanceof Uint ? value.value : fail('expected an integer');

const numberOf = (value: unknown): number =>
  typeof value === 'number' ? value : typeof value === 'bigint' ? Number(value) : fail('expected a number');

function hex(value: unknown): string {
  if (typeof value === 'string') return Buffer.from(value).toString('hex');
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : wholeOf(value).toString(16);
}

function formatOne(verb: string, precision: string, value: unknown): string {
  const digits = precision === '' ? 6 : Number(precision.slice(1));
  switch (verb) {
    case 's':
      return print(value);
    case 'd':
      return typeof value === 'number' ? String(value) : wholeOf(value).toString();
    case 'f':
      return numberOf(value).toFixed(digits);
    case 'e':
      return numberOf(value)
        .toExponential(digits)
        .replace(/e([+-])(\d)$/, 'e$10$2');
    case 'b':
      return typeof value === 'boolean' ? (value ? '1' : '0') : wholeOf(value).toString(2);
    case 'o':
      return wholeOf(value).toString(8);
    case 'x':
      return hex(value);
    case 'X':
      return hex(value).toUpperCase();
    default:
      return fail(`unrecognized formatting clause "${verb}"`);
  }
}

function format(text: string, args: readonly unknown[]): string {
  let next = 0;
  return text.replace(/%(%|(\.\d+)?(.))/g, (_, whole: string, precision: string | undefined, verb: string) => {
    if (whole === '%') return '%';
    if (next >= args.length) return fail(`index ${next} out of range`);
    return formatOne(verb, precision ?? '', args[next++]);
  });
}

const strings: Overload[] = [
  method('charAt', [STRING, INT], STRING, charAt),
  method('indexOf', [STRING, STRING], INT, indexIn),
  method('indexOf', [STRING, STRING, INT], INT, indexIn),
  method('lastIndexOf', [STRING, STRING], INT, lastIndexIn),
  method('lastIndexOf', [STRING, STRING, INT], INT, lastIndexIn),
  method('lowerAscii', [STRING], STRING, (text: string) => text.replace(/[A-Z]/g, (char) => char.toLowerCase())),
  method('upperAscii', [STRING], STRING, (text: string) => text.replace(/[a-z]/g, (char) => char.toUpperCase())),
  method('replace', [STRING, STRING, STRING], STRING, replace),
  method('replace', [STRING, STRING, STRING, INT], STRING, replace),
  method('split', [STRING, STRING], listOf(STRING), split),
  method('split', [STRING, STRING, INT], listOf(STRING), split),
  method('substring', [STRING, INT], STRING, substring),
  method('substring', [STRING, INT, INT], STRING, substring),
  method('trim', [STRING], STRING, (text: string) => text.trim()),
  method('join', [listOf(STRING)], STRING, (list: string[]) => list.join('')),
  method('join', [listOf(STRING), STRING], STRING, (list: string[], separator: string) => list.join(separator)),
  method('format', [STRING, listOf(DYN)], STRING, format),
  fn('strings.quote', [STRING], STRING, goQuote),
  method('find', [STRING, STRING], STRING, (text: string, pattern: string) => regExp(pattern).find(text, 1)[0] ?? ''),
  method('findAll', [STRING, STRING], listOf(STRING), findAll),
  method('findAll', [STRING, STRING, INT], listOf(STRING), findAll),
];

function findAll(text: string, pattern: string, limit = -1n): string[] {
  return regExp(pattern).find(text, limit < 0n ? -1 : toIndex(limit));
}

function extreme(list: readonly unknown[], sign: number): unknown {
  if (list.length === 0) return fail('min/max called on empty list');
  return list.reduce((best, item) => ((order(item, best) ?? fail('no such overload')) * sign > 0 ? item : best));
}

function sum(list: readonly unknown[], zero: unknown): unknown {
  let total = zero;
  for (const item of list) {
    if (typeof item === 'bigint' && typeof total === 'bigint') total += item;
    else if (typeof item === 'number' && typeof total === 'number') total += item;
    else if (item instanceof Uint && total instanceof Uint) total = new Uint(total.value + item.value);
    else if (item instanceof Duration && total instanceof Duration) total = new Duration(total.nanos + item.nanos);
    else return fail('no such overload');
  }
  return total;
}

const isSorted = (list: readonly unknown[]): boolean =>
  list.every((item, at) => at === 0 || (order(list[at - 1], item) ?? fail('no such overload')) <= 0);

const isIn = (list: readonly unknown[], item: unknown): boolean => list.some((other) => equal(item, other));

const COMPARABLE = [INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES];
const ZEROS: readonly (readonly [type: CelType, zero: unknown])[] = [
  [INT, 0n],
  [UINT, new Uint(0n)],
  [DOUBLE, 0],
  [DURATION, new Duration(0n)],
];

const lists: Overload[] = [
  ...COMPARABLE.flatMap((type) => [
    method('isSorted', [listOf(type)], BOOL, isSorted),
    method('min', [listOf(type)], type, (list: unknown[]) => extreme(list, -1)),
    method('max', [listOf(type)], type, (list: unknown[]) => extreme(list, 1)),
  ]),
  ...ZEROS.map(([type, zero]) => method('sum', [listOf(type)], type, (list: unknown[]) => sum(list, zero))),
  method('indexOf', [listOf(A), A], INT, (list: unknown[], item: unknown) =>
    BigInt(list.findIndex((other) => equal(item, other))),
  ),
  method('lastIndexOf', [listOf(A), A], INT, (list: unknown[], item: unknown) =>
    BigInt(list.findLastIndex((other) => equal(item, other))),
  ),
  fn('sets.contains', [listOf(A), listOf(A)], BOOL, (a: unknown[], b: unknown[]) => b.every((item) => isIn(a, item))),
  fn('sets.intersects', [listOf(A), listOf(A)], BOOL, (a: unknown[], b: unknown[]) => b.some((item) => isIn(a, item))),
  fn(
    'sets.equivalent',
    [listOf(A), listOf(A)],
    BOOL,
    (a: unknown[], b: unknown[]) => a.every((item) => isIn(b, item)) && b.every((item) => isIn(a, item)),
  ),
];

const sameKind = (list: readonly unknown[]): boolean =>
  list.every((item) => order(item, item) !== undefined && order(list[0], item) !== undefined);

/**
 * Sorts a list by keys: the key at an index belongs to the item at this index. Items with equal keys keep their order.
 */
function sortBy(list: readonly unknown[], keys: readonly unknown[]): unknown[] {
  if (list.length === 0) return [];
  if (order(keys[0], keys[0]) === undefined) return fail('list elements must be comparable');
  if (!sameKind(keys)) return fail('list elements must have the same type');
  return list
    .map((item, at) => ({ item, key: keys[at] }))
    .sort((a, b) => order(a.key, b.key) ?? 0)
    .map(({ item }) => item);
}

function slice(list: readonly unknown[], start: bigint, end: bigint): unknown[] {
  const call = `cannot slice(${start}, ${end})`;
  if (start < 0n || end < 0n) return fail(`${call}, negative indexes not supported`);
  if (start > end) return fail(`${call}, start index must be less than or equal to end index`);
  if (BigInt(list.length) < end) return fail(`${call}, list is length ${list.length}`);
  return list.slice(toIndex(start), toIndex(end));
}

const flatten = (list: readonly unknown[], depth = 1n): unknown[] =>
  depth < 0n ? fail('level must be non-negative') : list.flat(toIndex(depth) as 1);

const MAX_RANGE = 1_000_000n;

function range(count: bigint): bigint[] {
  if (count < 0n) return fail(`lists.range: size must be non-negative, got ${count}`);
  if (count > MAX_RANGE) return fail(`lists.range: size ${count} exceeds maximum allowed (${MAX_RANGE})`);
  return Array.from({ length: toIndex(count) }, (_, at) => BigInt(at));
}

const distinct = (list: readonly unknown[]): unknown[] =>
  list.filter((item, at) => !list.slice(0, at).some((other) => equal(item, other)));

const extendedLists: Overload[] = [
  method('slice', [listOf(A), INT, INT], listOf(A), slice),
  method('flatten', [listOf(listOf(A))], listOf(A), flatten),
  method('flatten', [listOf(DYN), INT], listOf(DYN), flatten),
  method('distinct', [listOf(A)], listOf(A), distinct),
  method('reverse', [listOf(A)], listOf(A), (list: unknown[]) => list.toReversed()),
  fn('lists.range', [INT], listOf(INT), range),
  ...COMPARABLE.map((type) => method('sort', [listOf(type)], listOf(type), (list: unknown[]) => sortBy(list, list))),
  ...COMPARABLE.map((type) => method('@sortByAssociatedKeys', [listOf(A), listOf(type)], listOf(A), sortBy)),
];

/** The extensions for strings, regular expressions, lists and sets that Kubernetes enables. */
export const stringLibrary: readonly Overload[] = [...strings, ...lists, ...extendedLists];
