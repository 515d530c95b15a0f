import { equalJson, isNumber, isRecord, own } from '../../../apimachinery/objects/json-value.ts';
import type { SchemaNode } from '../../model/node.ts';
import { unescapeName } from '../types/types.ts';

export class Uint {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

export class Timestamp {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class Duration {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class Optional {
  readonly present: boolean;
  readonly value: unknown;
  constructor(present: boolean, value?: unknown) {
    this.present = present;
    this.value = value;
  }
}

export const NONE = new Optional(false);

/** A value of a Kubernetes library: a quantity, URL, IP address, network, format or semantic version. */
export interface Opaque {
  readonly opaque: string;
  equals(other: unknown): boolean;
  toString(): string;
}

export const isOpaque = (value: unknown): value is Opaque =>
  typeof value === 'object' && value !== null && 'opaque' in value && 'equals' in value;

/** A map of CEL. If the map is a JSON object, each read converts a field. */
export interface CelMap {
  get(key: unknown): unknown;
  has(key: unknown): boolean;
  keys(): unknown[];
  readonly size: number;
}

const keyText = (key: unknown): string =>
  typeof key === 'bigint'
    ? `i${key}`
    : key instanceof Uint
      ? `i${key.value}`
      : typeof key === 'number'
        ? `i${key}`
        : `${typeof key}${String(key)}`;

export class LiteralMap implements CelMap {
  private readonly entries = new Map<string, { key: unknown; value: unknown }>();

  set(key: unknown, value: unknown): void {
    this.entries.set(keyText(key), { key, value });
  }

  get(key: unknown): unknown {
    return this.entries.get(keyText(key))?.value;
  }

  has(key: unknown): boolean {
    return this.entries.has(keyText(key));
  }

  keys(): unknown[] {
    return [...this.entries.values()].map((entry) => entry.key);
  }

  get size(): number {
    return this.entries.size;
  }
}

/** A property with the value null counts as absent. */
export class DataMap implements CelMap {
  readonly data: Record<string, unknown>;
  readonly node: SchemaNode | undefined;

  constructor(data: Record<string, unknown>, node: SchemaNode | undefined) {
    this.data = data;
    this.node = node;
  }

  private child(name: string): SchemaNode | undefined {
    return this.node?.properties.get(name) ?? this.node?.additional;
  }

  private name(key: unknown): string | undefined {
    if (typeof key !== 'string') return undefined;
    return this.node !== undefined && this.node.additional === undefined && !Object.hasOwn(this.data, key)
      ? unescapeName(key)
      : key;
  }

  get(key: unknown): unknown {
    const name = this.name(key);
    if (name === undefined || !Object.hasOwn(this.data, name)) return undefined;
    return toCel(own(this.data, name), this.child(name));
  }

  has(key: unknown): boolean {
    const name = this.name(key);
    if (name === undefined || !Object.hasOwn(this.data, name)) return false;
    // As in kube-apiserver, a property with the value null is absent, even if the schema allows null.
    const isProperty = this.node !== undefined && this.node.additional === undefined;
    return this.data[name] !== null || (!isProperty && this.child(name)?.nullable !== false);
  }

  keys(): unknown[] {
    return Object.keys(this.data);
  }

  get size(): number {
    return Object.keys(this.data).length;
  }
}

export const isMap = (value: unknown): value is CelMap => value instanceof DataMap || value instanceof LiteralMap;

export class CelRuntimeError extends Error {
  override readonly name = 'CelRuntimeError';
}

const TIME = /^(\d{4})-(\d{2})-(\d{2})(?:[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2}))?$/;

export function parseTimestamp(text: string): Timestamp | undefined {
  const parts = TIME.exec(text);
  if (parts === null) return undefined;
  const whole =
    parts[4] === undefined ? `${text}T00:00:00Z` : text.replace(/\.\d+/, '').replace('t', 'T').replace('z', 'Z');
  const ms = new Date(whole).getTime();
  if (Number.isNaN(ms)) return undefined;
  return new Timestamp(BigInt(ms) * 1_000_000n + BigInt((parts[7] ?? '').padEnd(9, '0') || 0));
}

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

export function parseDuration(text: string): Duration | undefined {
  const body = text.replace(/^[+-]/, '');
  if (body === '0') return new Duration(0n);
  if (!/^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(body)) return undefined;
  let nanos = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of body.matchAll(/(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/g)) {
    const scale = UNITS[unit] ?? 1n;
    nanos += BigInt(whole || 0) * scale;
    if (fraction !== '') nanos += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
  }
  return new Duration(text.startsWith('-') ? -nanos : nanos);
}

/** Formats a type like `%T` in Go. */
function goTypeOf(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (isRecord(value)) return 'map[string]interface {}';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  return typeof value === 'number' && !Number.isInteger(value) ? 'float64' : 'int64';
}

/** @throws CelRuntimeError for a wrong type */
function checkData(value: unknown, { types: [type], intOrString }: SchemaNode): void {
  const expect = (fits: boolean, what: string): void => {
    if (!fits) throw new CelRuntimeError(`invalid data, expected ${what}`);
  };
  if (intOrString) {
    expect(typeof value === 'string' || isNumber(value), 'XIntOrString value to be either a string or integer');
  } else if (type === 'object') expect(isRecord(value), 'a map for the provided schema with type=object');
  else if (type === 'array') expect(Array.isArray(value), 'an array for the provided schema with type=array');
  else if (type === 'string') expect(typeof value === 'string', `string, got ${goTypeOf(value)}`);
  else if (type === 'boolean') expect(typeof value === 'boolean', `bool, got ${goTypeOf(value)}`);
  else if (type === 'number') expect(isNumber(value), `float, got ${goTypeOf(value)}`);
  else if (type === 'integer') {
    expect(typeof value === 'bigint' || Number.isInteger(value), `int, got ${goTypeOf(value)}`);
  }
}

/**
 * Checks a value and all its inner values, because kube-apiserver converts each value that it compares.
 * @throws CelRuntimeError for a wrong type
 */
function checkAllData(value: unknown, node: SchemaNode | undefined): void {
  if (node === undefined || value === null || value === undefined) return;
  checkData(value, node);
  if (Array.isArray(value)) for (const item of value) checkAllData(item, node.items);
  else if (isRecord(value)) {
    for (const [key, item] of Object.entries(value)) checkAllData(item, node.properties.get(key) ?? node.additional);
  }
}

/** Converts a JSON value to a CEL value. */
export function toCel(value: unknown, node: SchemaNode | undefined): unknown {
  if (node !== undefined && value !== null && value !== undefined) checkData(value, node);
  switch (typeof value) {
    case 'number':
      if (node?.types.includes('number')) return value;
      return Number.isInteger(value) ? BigInt(value) : value;
    case 'string':
      return node === undefined || node.format === '' ? value : formatted(value, node.format);
    case 'object':
      if (value === null) return null;
      if (Array.isArray(value)) return value.map((item) => toCel(item, node?.items));
      return isRecord(value) ? new DataMap(value, node) : value;
    default:
      return value;
  }
}

function formatted(text: string, format: string): unknown {
  if (format === 'date-time' || format === 'date') return parseTimestamp(text) ?? text;
  if (format === 'duration') return parseDuration(text) ?? text;
  return format === 'byte' ? Uint8Array.from(Buffer.from(text, 'base64')) : text;
}

const isNumeric = (value: unknown): boolean => isNumber(value) || value instanceof Uint;
const plainNumber = (value: unknown): bigint | number =>
  value instanceof Uint ? value.value : (value as bigint | number);

const equalLists = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, at) => equal(item, b[at]));

/** Numbers are compared by value, and all other values by type and content. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  // biome-ignore lint/suspicious/noDoubleEquals: an int and a double of the same value are equal here.
  if (isNumeric(a) && isNumeric(b)) return plainNumber(a) == plainNumber(b);
  if (Array.isArray(a)) return Array.isArray(b) && equalLists(a, b);
  if (a instanceof DataMap && b instanceof DataMap && a.node === b.node) {
    const isEqual = equalJson(a.data, b.data);
    if (isEqual) checkAllData(a.data, a.node);
    return isEqual;
  }
  if (isMap(a)) {
    if (!isMap(b) || a.size !== b.size) return false;
    return a.keys().every((key) => b.has(key) && equal(a.get(key), b.get(key)));
  }
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (a instanceof Optional) return b instanceof Optional && a.present === b.present && equal(a.value, b.value);
  return isOpaque(a) && a.equals(b);
}

/** Returns the order of two values. */
export function order(a: unknown, b: unknown): number | undefined {
  if (isNumeric(a) && isNumeric(b)) {
    const [x, y] = [plainNumber(a), plainNumber(b)];
    return x < y ? -1 : x > y ? 1 : 0;
  }
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Timestamp && b instanceof Timestamp) return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;
  if (a instanceof Duration && b instanceof Duration) return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  return undefined;
}
