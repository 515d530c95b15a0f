import { parseJson } from '../apimachinery/objects/json.ts';
import { isRecord, put } from '../apimachinery/objects/json-value.ts';
import type { KindDefinition } from '../apimachinery/objects/kind.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { StatusError } from '../apimachinery/objects/status.ts';
import { envelopeProblem, formOf, MAGIC } from './envelope.ts';
import { type MessageField, messageFields } from './messages.ts';
import { WireError, WireReader } from './reader.ts';

const MAX_DEPTH = 100;

const utf8 = new TextDecoder();

type Fields = Record<string, unknown>;

const badRequest = (message: string): StatusError => new StatusError({ code: 400, reason: 'BadRequest', message });

/** Reads a time. Except in a MicroTime, Go ignores the nanoseconds of a time. */
function readTime(bytes: Uint8Array, isMicro: boolean): string | null {
  if (bytes.length === 0) return null;
  let seconds = 0n;
  let nanos = 0;
  for (const field of new WireReader(bytes).fields()) {
    if (field.number === 1) seconds = BigInt.asIntN(64, field.varint);
    else if (field.number === 2) nanos = Number(BigInt.asIntN(32, field.varint));
  }
  const text = new Date(Number(seconds) * 1000).toISOString().replace(/\.\d+Z$/, '');
  if (!isMicro) return `${text}Z`;
  const micros = Math.trunc(nanos / 1000).toString();
  return `${text}.${micros.padStart(6, '0')}Z`;
}

function readIntOrString(bytes: Uint8Array): number | string {
  let isString = false;
  let int = 0;
  let text = '';
  for (const field of new WireReader(bytes).fields()) {
    if (field.number === 1) isString = field.varint === 1n;
    else if (field.number === 2) int = Number(BigInt.asIntN(32, field.varint));
    else if (field.number === 3 && field.bytes !== undefined) text = utf8.decode(field.bytes);
  }
  return isString ? text : int;
}

/** Reads the field 1 of a message that contains only this field: a quantity, raw JSON or a duration. */
function readWrapped(bytes: Uint8Array): { varint: bigint; bytes: Uint8Array } {
  let found: { varint: bigint; bytes: Uint8Array } = { varint: 0n, bytes: new Uint8Array() };
  for (const field of new WireReader(bytes).fields()) {
    if (field.number === 1) found = { varint: field.varint, bytes: field.bytes ?? new Uint8Array() };
  }
  return found;
}

function readRaw(bytes: Uint8Array): unknown {
  const { bytes: raw } = readWrapped(bytes);
  if (raw.length === 0) return null;
  try {
    return parseJson(utf8.decode(raw));
  } catch (error) {
    if (error instanceof SyntaxError) throw new WireError(`embedded JSON: ${error.message}`);
    throw error;
  }
}

function readTexts(bytes: Uint8Array, number: number): string[] {
  const texts: string[] = [];
  for (const field of new WireReader(bytes).fields()) {
    if (field.number === number && field.bytes !== undefined) texts.push(utf8.decode(field.bytes));
  }
  return texts;
}

const PROPS = 'apiextensions.v1.JSONSchemaProps';

function readSchemaOr(type: string, bytes: Uint8Array, depth: number): unknown {
  if (type === 'C') {
    const texts = readTexts(bytes, 2);
    if (texts.length > 0) return texts;
  }
  const schemas: Fields[] = [];
  let allows = false;
  for (const { number, varint, bytes: part } of new WireReader(bytes).fields()) {
    if (part !== undefined) {
      const schema = readMessage(PROPS, part, depth + 1);
      if (number === (type === 'B' ? 2 : 1)) return schema;
      schemas.push(schema);
    } else if (number === 1) allows = varint !== 0n;
  }
  return type === 'B' ? allows : schemas;
}

/** Converts an integer of protobuf to a number. As in `parseJson`, an integer beyond 2^53 becomes a bigint. */
function integerOf(varint: bigint): number | bigint {
  const value = BigInt.asIntN(64, varint);
  const rounded = Number(value);
  return Number.isSafeInteger(rounded) ? rounded : value;
}

function readDouble(bytes: Uint8Array): number {
  if (bytes.length !== 8) throw new WireError('unexpected EOF');
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true);
}

function readValue(type: string, varint: bigint, bytes: Uint8Array | undefined, depth: number): unknown {
  if (type === 'b') return varint !== 0n;
  if (type === 'i') return integerOf(varint);
  if (bytes === undefined) throw new WireError('proto: wrong wireType');
  switch (type) {
    case 's':
      return utf8.decode(bytes);
    case 'y':
      return Buffer.from(bytes).toString('base64');
    case 'd':
      return readDouble(bytes);
    case 't':
    case 'm':
      return readTime(bytes, type === 'm');
    case 'q':
      return utf8.decode(readWrapped(bytes).bytes);
    case 'o':
      return readIntOrString(bytes);
    case 'r':
      return readRaw(bytes);
    case 'x':
      return readTexts(bytes, 1);
    case 'A':
    case 'B':
    case 'C':
      return readSchemaOr(type, bytes, depth);
    case 'u':
      return `${Number(readWrapped(bytes).varint) / 1e9}s`;
    default:
      return readMessage(type, bytes, depth + 1);
  }
}

function readEntry(type: string, bytes: Uint8Array, depth: number): readonly [string, unknown] {
  let key = '';
  let value: unknown = readDefault(type, depth);
  for (const field of new WireReader(bytes).fields()) {
    if (field.number === 1 && field.bytes !== undefined) key = utf8.decode(field.bytes);
    else if (field.number === 2) value = readValue(type, field.varint, field.bytes, depth);
  }
  return [key, value];
}

/** Returns the zero value of a type, which is the value of a map entry without a value. */
const readDefault = (type: string, depth: number): unknown =>
  readValue(type, 0n, type === 'd' ? new Uint8Array(8) : new Uint8Array(), depth);

function addToList(
  list: unknown[],
  field: MessageField,
  varint: bigint,
  bytes: Uint8Array | undefined,
  depth: number,
): void {
  if (field.type === 'i' && bytes !== undefined) {
    const packed = new WireReader(bytes);
    while (!packed.done) list.push(integerOf(packed.varint()));
  } else {
    list.push(readValue(field.type, varint, bytes, depth));
  }
}

function readMessage(message: string, bytes: Uint8Array, depth: number): Fields {
  const fields = messageFields(message)?.byNumber;
  if (fields === undefined) throw new WireError(`the message ${message} has no field numbers`);
  if (depth > MAX_DEPTH) throw new WireError('message is nested too deep');
  const result: Fields = {};
  for (const { number, varint, bytes: part } of new WireReader(bytes).fields()) {
    const field = fields.get(number);
    if (field === undefined) continue;
    if (field.shape === 'list') {
      const list = Array.isArray(result[field.name]) ? (result[field.name] as unknown[]) : [];
      addToList(list, field, varint, part, depth);
      result[field.name] = list;
    } else if (field.shape === 'map') {
      if (part === undefined) throw new WireError('proto: wrong wireType');
      const map = isRecord(result[field.name]) ? (result[field.name] as Fields) : {};
      const [key, value] = readEntry(field.type, part, depth);
      put(map, key, value);
      result[field.name] = map;
    } else if (field.inline) {
      Object.assign(result, readValue(field.type, varint, part, depth));
    } else {
      result[field.name] = readValue(field.type, varint, part, depth);
    }
  }
  return result;
}

function readList(item: string, bytes: Uint8Array): Fields {
  const list: Fields & { items: Fields[] } = { items: [] };
  for (const { number, bytes: part } of new WireReader(bytes).fields()) {
    if (part === undefined) continue;
    if (number === 1) list.metadata = readMessage('meta.v1.ListMeta', part, 1);
    else if (number === 2) list.items.push(readMessage(item, part, 1));
  }
  return list;
}

interface Envelope {
  apiVersion: string;
  kind: string;
  raw: Uint8Array;
  contentType: string;
}

function readEnvelope(body: Uint8Array): Envelope {
  const problem = envelopeProblem(body);
  if (problem !== undefined) throw new WireError(problem);
  const envelope: Envelope = { apiVersion: '', kind: '', raw: new Uint8Array(), contentType: '' };
  for (const { number, bytes } of new WireReader(body.subarray(MAGIC.length)).fields()) {
    if (bytes === undefined) continue;
    if (number === 1) {
      for (const field of new WireReader(bytes).fields()) {
        if (field.bytes === undefined) continue;
        if (field.number === 1) envelope.apiVersion = utf8.decode(field.bytes);
        else if (field.number === 2) envelope.kind = utf8.decode(field.bytes);
      }
    } else if (number === 2) envelope.raw = bytes;
    else if (number === 4) envelope.contentType = utf8.decode(bytes);
  }
  return envelope;
}

/** Removes empty metadata fields, because Go encodes all scalar fields of the metadata. */
function dropEmptyMeta(meta: Fields): void {
  for (const key of Object.keys(meta)) {
    const value = meta[key];
    if (value === '' || value === null || (key === 'generation' && value === 0)) delete meta[key];
  }
}

/**
 * Decodes a request body with the media type `application/vnd.kubernetes.protobuf`. The clients of Go write all scalar
 * fields, even empty ones. The defaults of the kind remove the empty values that JSON would omit.
 * @throws StatusError 400 if the bytes are not a valid message, or if the field numbers of the kind are unknown
 */
export function decodeProtobuf(
  body: Uint8Array,
  resolve: (apiVersion: string, kind: string) => KindDefinition | undefined,
): ApiObject {
  try {
    const { apiVersion, kind, raw, contentType } = readEnvelope(body);
    if (contentType === 'application/json') return parseJson(utf8.decode(raw)) as ApiObject;
    const form = formOf(apiVersion, kind);
    if (form === undefined) {
      const reason =
        resolve(apiVersion, kind) === undefined ? 'is registered for version' : 'can be read from protobuf in version';
      throw badRequest(`no kind "${kind}" ${reason} "${apiVersion}"`);
    }
    const fields = form.isList ? readList(form.message, raw) : readMessage(form.message, raw, 0);
    if (isRecord(fields.metadata)) dropEmptyMeta(fields.metadata);
    return { apiVersion, kind, metadata: {}, ...fields };
  } catch (error) {
    if (error instanceof WireError || error instanceof SyntaxError) {
      throw badRequest(`unable to decode the protobuf body: ${error.message}`);
    }
    throw error;
  }
}
