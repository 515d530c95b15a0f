import { type GoRegExp, RegExpError, readRegExp } from '../../model/regexp.ts';
import {
  type CelMap,
  Duration,
  equal,
  isMap,
  isOpaque,
  NONE,
  type Opaque,
  Optional,
  order,
  parseDuration,
  parseTimestamp,
  Timestamp,
  Uint,
} from '../runtime/values.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  optionalOf,
  param,
  STRING,
  TIMESTAMP,
  TYPE,
  UINT,
} from '../types/types.ts';
import { checkedInt, fail, fn, method, type Overload, toIndex } from './overload.ts';

const A = param('A');
const B = param('B');

const compiledPatterns = new Map<string, GoRegExp>();
const MAX_PATTERNS = 1000;

export function regExp(pattern: string): GoRegExp {
  let found = compiledPatterns.get(pattern);
  if (found === undefined) {
    const read = readRegExp(pattern);
    found = read instanceof RegExpError ? fail(read.message) : read;
    if (compiledPatterns.size >= MAX_PATTERNS) compiledPatterns.clear();
    compiledPatterns.set(pattern, found);
  }
  return found;
}

const divide = (a: bigint, b: bigint): bigint => (b === 0n ? fail('division by zero') : checkedInt(a / b));
const remainder = (a: bigint, b: bigint): bigint => (b === 0n ? fail('modulus by zero') : a % b);

const concat = (a: Uint8Array, b: Uint8Array): Uint8Array => Uint8Array.from([...a, ...b]);

const arithmetic: Overload[] = [
  fn('_+_', [INT, INT], INT, (a: bigint, b: bigint) => checkedInt(a + b)),
  fn('_+_', [UINT, UINT], UINT, (a: Uint, b: Uint) => new Uint(a.value + b.value)),
  fn('_+_', [DOUBLE, DOUBLE], DOUBLE, (a: number, b: number) => a + b),
  fn('_+_', [STRING, STRING], STRING, (a: string, b: string) => a + b),
  fn('_+_', [BYTES, BYTES], BYTES, concat),
  fn('_+_', [listOf(A), listOf(A)], listOf(A), (a: unknown[], b: unknown[]) => [...a, ...b]),
  fn('_+_', [TIMESTAMP, DURATION], TIMESTAMP, (a: Timestamp, b: Duration) => new Timestamp(a.nanos + b.nanos)),
  fn('_+_', [DURATION, TIMESTAMP], TIMESTAMP, (a: Duration, b: Timestamp) => new Timestamp(a.nanos + b.nanos)),
  fn('_+_', [DURATION, DURATION], DURATION, (a: Duration, b: Duration) => new Duration(a.nanos + b.nanos)),
  fn('_-_', [INT, INT], INT, (a: bigint, b: bigint) => checkedInt(a - b)),
  fn('_-_', [UINT, UINT], UINT, (a: Uint, b: Uint) =>
    b.value > a.value ? fail('unsigned integer overflow') : new Uint(a.value - b.value),
  ),
  fn('_-_', [DOUBLE, DOUBLE], DOUBLE, (a: number, b: number) => a - b),
  fn('_-_', [TIMESTAMP, TIMESTAMP], DURATION, (a: Timestamp, b: Timestamp) => new Duration(a.nanos - b.nanos)),
  fn('_-_', [TIMESTAMP, DURATION], TIMESTAMP, (a: Timestamp, b: Duration) => new Timestamp(a.nanos - b.nanos)),
  fn('_-_', [DURATION, DURATION], DURATION, (a: Duration, b: Duration) => new Duration(a.nanos - b.nanos)),
  fn('_*_', [INT, INT], INT, (a: bigint, b: bigint) => checkedInt(a * b)),
  fn('_*_', [UINT, UINT], UINT, (a: Uint, b: Uint) => new Uint(a.value * b.value)),
  fn('_*_', [DOUBLE, DOUBLE], DOUBLE, (a: number, b: number) => a * b),
  fn('_/_', [INT, INT], INT, divide),
  fn('_/_', [UINT, UINT], UINT, (a: Uint, b: Uint) => new Uint(divide(a.value, b.value))),
  fn('_/_', [DOUBLE, DOUBLE], DOUBLE, (a: number, b: number) => a / b),
  fn('_%_', [INT, INT], INT, remainder),
  fn('_%_', [UINT, UINT], UINT, (a: Uint, b: Uint) => new Uint(remainder(a.value, b.value))),
  fn('-_', [INT], INT, (a: bigint) => checkedInt(-a)),
  fn('-_', [DOUBLE], DOUBLE, (a: number) => -a),
  fn('!_', [BOOL], BOOL, (a: boolean) => !a),
];

const compare = (a: unknown, b: unknown): number => order(a, b) ?? fail('no such overload');

const ORDERED = [BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION];
const NUMBERS = [INT, UINT, DOUBLE];

function orderings(name: string, holds: (order: number) => boolean): Overload[] {
  const pairs = ORDERED.map((type) => [type, type]);
  for (const a of NUMBERS) for (const b of NUMBERS) if (a !== b) pairs.push([a, b]);
  return pairs.map((params) => fn(name, params, BOOL, (a: unknown, b: unknown) => holds(compare(a, b))));
}

const relations: Overload[] = [
  fn('_==_', [A, A], BOOL, equal),
  fn('_!=_', [A, A], BOOL, (a: unknown, b: unknown) => !equal(a, b)),
  ...orderings('_<_', (value) => value < 0),
  ...orderings('_<=_', (value) => value <= 0),
  ...orderings('_>_', (value) => value > 0),
  ...orderings('_>=_', (value) => value >= 0),
  fn('@in', [A, listOf(A)], BOOL, (item: unknown, list: unknown[]) => list.some((other) => equal(item, other))),
  fn('@in', [A, mapOf(A, B)], BOOL, (key: unknown, map: CelMap) => map.has(key)),
];

function at(list: readonly unknown[], index: bigint): unknown {
  if (index < 0n || index >= BigInt(list.length)) return fail(`index out of bounds: ${index}`);
  return list[toIndex(index)];
}

const lookup = (map: CelMap, key: unknown): unknown =>
  map.has(key) ? map.get(key) : fail(`no such key: ${String(key)}`);

const access: Overload[] = [
  fn('_[_]', [listOf(A), INT], A, at),
  fn('_[_]', [mapOf(A, B), A], B, lookup),
  fn('_[_]', [optionalOf(listOf(A)), INT], optionalOf(A), (option: Optional, index: bigint) =>
    optionalAt(option, index),
  ),
  fn('_[_]', [optionalOf(mapOf(A, B)), A], optionalOf(B), (option: Optional, key: unknown) => optionalAt(option, key)),
  fn('_[?_]', [listOf(A), INT], optionalOf(A), (list: unknown[], index: bigint) =>
    optionalAt(new Optional(true, list), index),
  ),
  fn('_[?_]', [mapOf(A, B), A], optionalOf(B), (map: CelMap, key: unknown) => optionalAt(new Optional(true, map), key)),
  fn('_[?_]', [optionalOf(listOf(A)), INT], optionalOf(A), (option: Optional, index: bigint) =>
    optionalAt(option, index),
  ),
  fn('_[?_]', [optionalOf(mapOf(A, B)), A], optionalOf(B), (option: Optional, key: unknown) => optionalAt(option, key)),
];

function optionalAt(option: Optional, key: unknown): Optional {
  if (!option.present) return NONE;
  const { value } = option;
  if (Array.isArray(value)) {
    const index = Number(key);
    return index >= 0 && index < value.length ? new Optional(true, value[index]) : NONE;
  }
  return isMap(value) && value.has(key) ? new Optional(true, value.get(key)) : NONE;
}

const isZero = (value: unknown): boolean =>
  value === null ||
  value === false ||
  value === '' ||
  value === 0 ||
  value === 0n ||
  (Array.isArray(value) && value.length === 0) ||
  (isMap(value) && value.size === 0) ||
  (value instanceof Uint && value.value === 0n) ||
  (value instanceof Duration && value.nanos === 0n);

const optionals: Overload[] = [
  fn('optional.of', [A], optionalOf(A), (value: unknown) => new Optional(true, value)),
  fn('optional.none', [], optionalOf(DYN), () => NONE),
  fn('optional.ofNonZeroValue', [A], optionalOf(A), (value: unknown) =>
    isZero(value) ? NONE : new Optional(true, value),
  ),
  method('hasValue', [optionalOf(A)], BOOL, (option: Optional) => option.present),
  method('value', [optionalOf(A)], A, (option: Optional) =>
    option.present ? option.value : fail('optional.none() dereference'),
  ),
  method('or', [optionalOf(A), optionalOf(A)], optionalOf(A), (a: Optional, b: Optional) => (a.present ? a : b)),
  method('orValue', [optionalOf(A), A], A, (option: Optional, other: unknown) =>
    option.present ? option.value : other,
  ),
];

const charCount = (text: string): bigint => {
  let count = 0n;
  for (const _ of text) count++;
  return count;
};

const size = [
  [STRING, charCount],
  [BYTES, (bytes: Uint8Array) => BigInt(bytes.length)],
  [listOf(A), (list: unknown[]) => BigInt(list.length)],
  [mapOf(A, B), (map: CelMap) => BigInt(map.size)],
] as const;

const strings: Overload[] = [
  ...size.flatMap(([type, call]) => [
    fn('size', [type], INT, call as (value: never) => bigint),
    method('size', [type], INT, call as (value: never) => bigint),
  ]),
  method('contains', [STRING, STRING], BOOL, (text: string, part: string) => text.includes(part)),
  method('startsWith', [STRING, STRING], BOOL, (text: string, part: string) => text.startsWith(part)),
  method('endsWith', [STRING, STRING], BOOL, (text: string, part: string) => text.endsWith(part)),
  method('matches', [STRING, STRING], BOOL, (text: string, pattern: string) => regExp(pattern).test(text)),
  fn('matches', [STRING, STRING], BOOL, (text: string, pattern: string) => regExp(pattern).test(text)),
];

function parseInteger(text: string): bigint {
  if (!/^[+-]?\d+$/.test(text)) return fail(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  return checkedInt(BigInt(text.replace(/^\+/, '')));
}

function parseDouble(text: string): number {
  const value = Number(text);
  return text.trim() === '' || Number.isNaN(value)
    ? fail(`strconv.ParseFloat: parsing "${text}": invalid syntax`)
    : value;
}

const truncate = (value: number): bigint =>
  Number.isFinite(value) && Math.abs(value) < 2 ** 63 ? BigInt(Math.trunc(value)) : fail('integer overflow');

const unsigned = (value: bigint): Uint => (value < 0n ? fail('unsigned integer overflow') : new Uint(value));

export function printTimestamp(time: Timestamp): string {
  const nanos = ((time.nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const seconds = new Date(Number((time.nanos - nanos) / 1_000_000n)).toISOString().slice(0, 19);
  const fraction = nanos === 0n ? '' : `.${nanos.toString().padStart(9, '0').replace(/0+$/, '')}`;
  return `${seconds}${fraction}Z`;
}

/** Formats a duration in seconds, as CEL does. */
export const printDuration = (span: Duration): string => `${Number(span.nanos) / 1e9}s`;

const decodeUtf8 = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

const conversions: Overload[] = [
  fn('int', [INT], INT, (value: bigint) => value),
  fn('int', [UINT], INT, (value: Uint) => checkedInt(value.value)),
  fn('int', [DOUBLE], INT, truncate),
  fn('int', [STRING], INT, parseInteger),
  fn('int', [TIMESTAMP], INT, (time: Timestamp) => time.nanos / 1_000_000_000n),
  fn('uint', [UINT], UINT, (value: Uint) => value),
  fn('uint', [INT], UINT, unsigned),
  fn('uint', [DOUBLE], UINT, (value: number) => unsigned(truncate(value))),
  fn('uint', [STRING], UINT, (text: string) => unsigned(parseInteger(text))),
  fn('double', [DOUBLE], DOUBLE, (value: number) => value),
  fn('double', [INT], DOUBLE, Number),
  fn('double', [UINT], DOUBLE, (value: Uint) => Number(value.value)),
  fn('double', [STRING], DOUBLE, parseDouble),
  fn('bool', [BOOL], BOOL, (value: boolean) => value),
  fn('bool', [STRING], BOOL, (text: string) =>
    ['true', 'True', 'TRUE', 't', '1'].includes(text)
      ? true
      : ['false', 'False', 'FALSE', 'f', '0'].includes(text)
        ? false
        : fail(`type conversion error from 'string' to 'bool'`),
  ),
  fn('string', [STRING], STRING, (value: string) => value),
  fn('string', [INT], STRING, String),
  fn('string', [UINT], STRING, (value: Uint) => String(value.value)),
  fn('string', [DOUBLE], STRING, String),
  fn('string', [BOOL], STRING, String),
  fn('string', [BYTES], STRING, decodeUtf8),
  fn('string', [TIMESTAMP], STRING, printTimestamp),
  fn('string', [DURATION], STRING, printDuration),
  fn('bytes', [BYTES], BYTES, (value: Uint8Array) => value),
  fn('bytes', [STRING], BYTES, (text: string) => new TextEncoder().encode(text)),
  fn('timestamp', [TIMESTAMP], TIMESTAMP, (value: Timestamp) => value),
  fn('timestamp', [INT], TIMESTAMP, (seconds: bigint) => new Timestamp(seconds * 1_000_000_000n)),
  fn(
    'timestamp',
    [STRING],
    TIMESTAMP,
    (text: string) => (text.length > 10 ? parseTimestamp(text) : undefined) ?? fail(`invalid timestamp "${text}"`),
  ),
  fn('duration', [DURATION], DURATION, (value: Duration) => value),
  fn('duration', [INT], DURATION, (nanos: bigint) => new Duration(nanos)),
  fn('duration', [STRING], DURATION, (text: string) => parseDuration(text) ?? fail(`time: invalid duration "${text}"`)),
  fn('dyn', [A], DYN, (value: unknown) => value),
  fn('type', [A], TYPE, (value: unknown) => typeValue(nameOfType(value))),
];

export function typeValue(name: string): Opaque {
  return {
    opaque: 'type',
    equals: (other) => isOpaque(other) && other.opaque === 'type' && other.toString() === name,
    toString: () => name,
  };
}

function nameOfType(value: unknown): string {
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'double';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  if (value === null) return 'null_type';
  if (Array.isArray(value)) return 'list';
  if (value instanceof Uint) return 'uint';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof Optional) return 'optional_type';
  return isOpaque(value) ? value.opaque : 'map';
}

const dateParts: readonly (readonly [string, (date: Date) => number])[] = [
  ['getFullYear', (date) => date.getUTCFullYear()],
  ['getMonth', (date) => date.getUTCMonth()],
  ['getDate', (date) => date.getUTCDate()],
  ['getDayOfMonth', (date) => date.getUTCDate() - 1],
  ['getDayOfWeek', (date) => date.getUTCDay()],
  ['getDayOfYear', (date) => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / 86_400_000)],
  ['getHours', (date) => date.getUTCHours()],
  ['getMinutes', (date) => date.getUTCMinutes()],
  ['getSeconds', (date) => date.getUTCSeconds()],
  ['getMilliseconds', (date) => date.getUTCMilliseconds()],
];

function zoneOffset(zone: string): number {
  const parts = /^([+-]?)(\d{2}):(\d{2})$/.exec(zone);
  if (parts === null) return zone === 'UTC' || zone === 'Z' ? 0 : fail(`unknown time zone ${zone}`);
  return (parts[1] === '-' ? -1 : 1) * (Number(parts[2]) * 60 + Number(parts[3])) * 60_000;
}

const toDate = (time: Timestamp, offset = 0): Date => new Date(Number(time.nanos / 1_000_000n) + offset);

const spans: readonly (readonly [string, bigint])[] = [
  ['getHours', 3_600_000_000_000n],
  ['getMinutes', 60_000_000_000n],
  ['getSeconds', 1_000_000_000n],
  ['getMilliseconds', 1_000_000n],
];

const times: Overload[] = [
  ...dateParts.flatMap(([name, get]) => [
    method(name, [TIMESTAMP], INT, (time: Timestamp) => BigInt(get(toDate(time)))),
    method(name, [TIMESTAMP, STRING], INT, (time: Timestamp, zone: string) =>
      BigInt(get(toDate(time, zoneOffset(zone)))),
    ),
  ]),
  ...spans.map(([name, unit]) => method(name, [DURATION], INT, (span: Duration) => span.nanos / unit)),
];

export const standardLibrary: readonly Overload[] = [
  ...arithmetic,
  ...relations,
  ...access,
  ...optionals,
  ...strings,
  ...conversions,
  ...times,
];
