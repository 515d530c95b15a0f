import { parseJson, stringifyJson } from '../apimachinery/objects/json.ts';
import { isNumber, isRecord } from '../apimachinery/objects/json-value.ts';
import { WireWriter } from '../protobuf/writer.ts';
import { type Field, type FieldType, MESSAGES, type Message, type MessageName, type Struct } from './v2-messages.ts';

/** The preferred media type is first in the list. Clients with client-go, such as kubectl, request the older name. */
export const V2_PROTOBUF_NAMES = [
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
] as const;

export const V2_PROTOBUF = V2_PROTOBUF_NAMES[1];

const EXTENSION = /^x-/;

/** Converts an OpenAPI v2 document to the message `openapi.v2.Document` of gnostic. */
export function encodeOpenApiV2(document: string): Uint8Array {
  const writer = new WireWriter();
  writeMessage(writer, MESSAGES.Document, parseJson(document));
  // The function copies the bytes, because the writer's buffer has spare capacity.
  return new Uint8Array(writer.finish());
}

function writeMessage(writer: WireWriter, message: Message, value: unknown): void {
  if ('pick' in message) writeValue(writer, message.pick(value), value);
  else if ('wraps' in message) writeItems(writer, message.wraps, value);
  else if (!isRecord(value)) return;
  else if ('pairs' in message) {
    const { pairs, extensions } = message;
    writeNamed(writer, pairs.number, pairs.type, value, (name) => extensions === undefined || !EXTENSION.test(name));
    if (extensions !== undefined) writeExtensions(writer, extensions, value);
  } else writeStruct(writer, message, value);
}

function writeStruct(
  writer: WireWriter,
  { fields, extensions }: Struct,
  value: Readonly<Record<string, unknown>>,
): void {
  if (extensions !== undefined) writeExtensions(writer, extensions, value);
  const present = Object.keys(value).flatMap((name) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return field === undefined ? [] : [{ name, field }];
  });
  for (const { name, field } of present.sort((a, b) => b.field.number - a.field.number)) {
    if (field.repeated) writeItems(writer, field, value[name]);
    else if (!isZero(field.type, value[name])) writeValue(writer, field, value[name]);
  }
}

const SCALARS: ReadonlySet<FieldType> = new Set(['string', 'bool', 'double', 'int64']);

/** Returns whether a value is a zero value. */
const isZero = (type: FieldType, value: unknown): boolean =>
  SCALARS.has(type) && (value === '' || value === 0 || value === false);

function writeItems(writer: WireWriter, field: Field, value: unknown): void {
  const items = Array.isArray(value) ? value : [value];
  for (let at = items.length - 1; at >= 0; at--) writeValue(writer, field, items[at]);
}

function writeExtensions(writer: WireWriter, number: number, value: Readonly<Record<string, unknown>>): void {
  writeNamed(writer, number, 'any', value, (name) => EXTENSION.test(name));
}

/** Writes the members of an object. Each member becomes a message with a name (1) and a value (2). */
function writeNamed(
  writer: WireWriter,
  number: number,
  type: FieldType,
  value: Readonly<Record<string, unknown>>,
  isMeant: (name: string) => boolean,
): void {
  for (const name of Object.keys(value).filter(isMeant).reverse()) {
    const pair = writer.size;
    writeValue(writer, { number: 2, type }, value[name]);
    writeText(writer, 1, name);
    writer.head(number, pair);
  }
}

function writeValue(writer: WireWriter, { number, type }: Pick<Field, 'number' | 'type'>, value: unknown): void {
  if (type === 'string') writeText(writer, number, value);
  else if (type === 'any') writeAny(writer, number, value);
  else if (type === 'bool' || type === 'double' || type === 'int64') writeNumber(writer, number, type, value);
  else writeNested(writer, number, type, value);
}

function writeText(writer: WireWriter, number: number, value: unknown): void {
  if (typeof value !== 'string') return;
  const mark = writer.size;
  writer.text(value);
  writer.head(number, mark);
}

function writeNumber(writer: WireWriter, number: number, type: 'bool' | 'double' | 'int64', value: unknown): void {
  if (type === 'bool') {
    if (typeof value !== 'boolean') return;
    writer.varint(value ? 1 : 0);
    writer.tag(number, 0);
  } else if (!isNumber(value)) {
    return;
  } else if (type === 'double') {
    writer.double(Number(value));
    writer.tag(number, 1);
  } else if (typeof value === 'bigint' || Number.isSafeInteger(value)) {
    writer.varint(value);
    writer.tag(number, 0);
  }
}

function writeNested(writer: WireWriter, number: number, type: MessageName, value: unknown): void {
  if (value === undefined || value === null) return;
  const mark = writer.size;
  writeMessage(writer, MESSAGES[type], value);
  writer.head(number, mark);
}

/** Writes a value as the message `Any`. */
function writeAny(writer: WireWriter, number: number, value: unknown): void {
  if (value === undefined) return;
  const mark = writer.size;
  writeText(writer, 2, `${stringifyJson(value)}\n`);
  writer.head(number, mark);
}
