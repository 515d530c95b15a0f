import { stringifyJson } from '../apimachinery/objects/json.ts';
import { isRecord } from '../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { formOf, MAGIC } from './envelope.ts';
import { type MessageField, messageFields } from './messages.ts';
import { WireWriter } from './writer.ts';

type Fields = Readonly<Record<string, unknown>>;

/** APIVersions is the only kind without an apiVersion. */
type Typed = Pick<ApiObject, 'kind'> & Partial<Pick<ApiObject, 'apiVersion'>> & Fields;

const NOTHING: Fields = {};
const PROPS = 'apiextensions.v1.JSONSchemaProps';

const record = (value: unknown): Fields => (isRecord(value) ? value : NOTHING);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const integer = (value: unknown): number | bigint =>
  typeof value === 'bigint' ? value : typeof value === 'number' && Number.isFinite(value) ? Math.trunc(value) : 0;
/** Formats a scalar as text. */
const text = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';

function writeInt(writer: WireWriter, number: number, value: number | bigint): void {
  writer.varint(value);
  writer.tag(number, 0);
}

function writeText(writer: WireWriter, number: number, value: string): void {
  const mark = writer.size;
  writer.text(value);
  writer.head(number, mark);
}

/** Writes a time, or nothing for null, which is the JSON form of Go's zero time. */
function writeTime(writer: WireWriter, value: unknown): void {
  if (typeof value !== 'string') return;
  const fraction = /\.(\d+)/.exec(value)?.[1] ?? '';
  writeInt(writer, 2, Number(fraction.padEnd(9, '0').slice(0, 9)));
  writeInt(writer, 1, Math.floor(Date.parse(value) / 1000));
}

function writeIntOrString(writer: WireWriter, value: unknown): void {
  const isText = typeof value === 'string';
  writeText(writer, 3, isText ? value : '');
  writeInt(writer, 2, isText ? 0 : integer(value));
  writeInt(writer, 1, isText ? 1 : 0);
}

const UNITS: Readonly<Record<string, number>> = { h: 3600e9, m: 60e9, s: 1e9, ms: 1e6, us: 1e3, µs: 1e3, ns: 1 };

/** Converts a Go duration (`1h30m`) to nanoseconds. */
function nanoseconds(value: string): number {
  let sum = 0;
  for (const [, count, unit] of value.matchAll(/([\d.]+)(h|ms|us|µs|ns|m|s)/g)) {
    sum += Number(count) * (UNITS[unit ?? ''] ?? 0);
  }
  return Math.round(value.startsWith('-') ? -sum : sum);
}

function writeSchemaOr(writer: WireWriter, type: string, value: unknown): void {
  if (isRecord(value)) {
    const mark = writer.size;
    writeMessage(writer, PROPS, value);
    writer.head(1 + Number(type === 'B'), mark);
    if (type === 'B') writeInt(writer, 1, 1);
  } else if (type === 'B') writeInt(writer, 1, value === true ? 1 : 0);
  else {
    for (const item of [...list(value)].reverse()) {
      const mark = writer.size;
      if (type === 'C') writer.text(text(item));
      else writeMessage(writer, PROPS, record(item));
      writer.head(2, mark);
    }
  }
}

const CONTENTS: Readonly<Record<string, (writer: WireWriter, value: unknown) => void>> = {
  s: (writer, value) => writer.text(text(value)),
  y: (writer, value) => writer.raw(Buffer.from(text(value), 'base64')),
  t: writeTime,
  m: writeTime,
  q: (writer, value) => writeText(writer, 1, text(value) || '0'),
  o: writeIntOrString,
  r: (writer, value) => {
    if (value !== undefined && value !== null) writeText(writer, 1, stringifyJson(value));
  },
  u: (writer, value) => writeInt(writer, 1, nanoseconds(text(value))),
  x: (writer, value) => {
    for (const item of [...list(value)].reverse()) writeText(writer, 1, text(item));
  },
  A: (writer, value) => writeSchemaOr(writer, 'A', value),
  B: (writer, value) => writeSchemaOr(writer, 'B', value),
  C: (writer, value) => writeSchemaOr(writer, 'C', value),
};

function writeValue(writer: WireWriter, number: number, type: string, value: unknown): void {
  if (type === 'b') writeInt(writer, number, value === true ? 1 : 0);
  else if (type === 'i') writeInt(writer, number, integer(value));
  else if (type === 'd') {
    writer.double(Number(value ?? 0));
    writer.tag(number, 1);
  } else {
    const mark = writer.size;
    const content = CONTENTS[type];
    if (content === undefined) writeMessage(writer, type, record(value));
    else content(writer, value);
    writer.head(number, mark);
  }
}

function writeField(writer: WireWriter, number: number, field: MessageField, owner: Fields): void {
  const { name, type, shape, inline, always } = field;
  const value = inline ? owner : Object.hasOwn(owner, name) ? owner[name] : undefined;
  if (shape === 'list') {
    for (const item of [...list(value)].reverse()) writeValue(writer, number, type, item);
  } else if (shape === 'map') {
    const entries = record(value);
    for (const key of Object.keys(entries).sort().reverse()) {
      const mark = writer.size;
      writeValue(writer, 2, type, entries[key]);
      writeText(writer, 1, key);
      writer.head(number, mark);
    }
  } else if (always || (value !== undefined && value !== null)) writeValue(writer, number, type, value);
}

function writeMessage(writer: WireWriter, message: string, value: Fields): void {
  const fields = messageFields(message);
  if (fields === undefined) throw new RangeError(`no field numbers exist for the message ${message}`);
  for (const [number, field] of fields.descending) writeField(writer, number, field, value);
}

/** All list messages consist of metadata and items, so the table does not contain list messages. */
function writeList(writer: WireWriter, item: string, value: Fields): void {
  for (const one of [...list(value.items)].reverse()) {
    const mark = writer.size;
    writeMessage(writer, item, record(one));
    writer.head(2, mark);
  }
  const mark = writer.size;
  writeMessage(writer, 'meta.v1.ListMeta', record(value.metadata));
  writer.head(1, mark);
}

export const hasProtobuf = (apiVersion: string, kind: string): boolean => formOf(apiVersion, kind) !== undefined;

function writeEnvelope(writer: WireWriter, object: Typed): void {
  const { apiVersion = '', kind } = object;
  const form = formOf(apiVersion, kind);
  if (form === undefined) throw new RangeError(`${apiVersion} ${kind} has no protobuf form`);
  writeText(writer, 4, '');
  writeText(writer, 3, '');
  const body = writer.size;
  if (form.isList) writeList(writer, form.message, object);
  else writeMessage(writer, form.message, object);
  writer.head(2, body);
  const type = writer.size;
  writeText(writer, 2, kind);
  writeText(writer, 1, apiVersion);
  writer.head(1, type);
  writer.raw(MAGIC);
}

/**
 * Encodes an object with the same bytes as Go's generated code, which sorts fields by number, and maps by key.
 * @throws RangeError if the kind cannot be encoded (see `hasProtobuf`)
 */
export function encodeProtobuf(object: Typed): Uint8Array {
  const writer = new WireWriter();
  writeEnvelope(writer, object);
  return writer.finish();
}

/** Encodes an event of a watch: the length in four bytes, and a WatchEvent that contains the encoded object. */
export function encodeWatchEvent(type: string, object: Typed): Uint8Array {
  const writer = new WireWriter();
  writeEnvelope(writer, object);
  writer.head(1, 0);
  writer.head(2, 0);
  writeText(writer, 1, type);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(writer.size);
  writer.raw(length);
  return writer.finish();
}
