import { noteEmpty } from '../apimachinery/objects/empties.ts';
import { type GoTime, parseGoTime } from '../apimachinery/objects/go-time.ts';
import { isNumber, isRecord } from '../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { canonicalQuantity, QUANTITY_ERROR } from '../apimachinery/objects/quantity.ts';
import { StatusError } from '../apimachinery/objects/status.ts';
import { ownReaders, quantityFields } from './facts.ts';
import { factName, fieldsOfModel } from './schemas.ts';
import { SHAPES } from './shape-table.ts';

export class DecodeError extends StatusError {
  readonly why: string;
  readonly converterWhy: string;

  constructor(why: string, object: Pick<ApiObject, 'apiVersion' | 'kind'>, converterWhy = why) {
    const version = object.apiVersion.split('/').at(-1) ?? '';
    super({
      message: `${object.kind} in version "${version}" cannot be handled as a ${object.kind}: ${why}`,
      reason: 'BadRequest',
      code: 400,
    });
    this.why = why;
    this.converterWhy = converterWhy;
  }
}

class Mismatch extends Error {
  readonly converterMessage: string;

  constructor(message: string, converterMessage = message) {
    super(message);
    this.converterMessage = converterMessage;
  }
}

type Reader = (value: unknown, owner: string, path: string) => unknown;

type Mode = 'optional' | 'dropped' | 'structure' | 'kept' | 'omitted' | 'null';

interface Field {
  readonly name: string;
  readonly mode: Mode;
  readonly read: Reader;
  readonly zero: unknown;
}

const goKind = (value: unknown): string => {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'bigint' ? 'number' : typeof value;
};

/** Formats a number with the digits that a double can represent. */
const numberText = (value: number | bigint): string =>
  typeof value === 'number' && Number.isInteger(value) ? BigInt(value).toString() : String(value);

/** Returns the Go kind of a value, such as `int64`, in an untyped object. */
function untypedKind(value: unknown): string {
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'int64' : 'float64';
  if (typeof value === 'boolean') return 'bool';
  return isRecord(value) ? 'map' : Array.isArray(value) ? 'slice' : 'string';
}

/** Returns the reason why a value does not match its type, with the text of Go's converter from untyped objects. */
export function converterProblem(value: unknown, type: string): string {
  if (type.startsWith('[]')) return `cannot restore slice from ${untypedKind(value)}`;
  if (type.startsWith('map[')) return `cannot restore map from ${untypedKind(value)}`;
  if (type.includes('.')) return `cannot restore struct from: ${untypedKind(value)}`;
  const numeric = isNumber(value);
  return numeric && type !== 'bool' ? `cannot convert ${untypedKind(value)} to ${type}` : `unrecognized type: ${type}`;
}

const mismatch = (value: unknown, owner: string, path: string, type: string, found = goKind(value)): Mismatch =>
  new Mismatch(
    `json: cannot unmarshal ${found} into Go struct field ${owner}.${path} of type ${type}`,
    converterProblem(value, type),
  );

const plainModel = (model: string): string => model.replace(/^[A-Za-z]*?V[0-9]+/, '');

/** Returns the Go name of a type in `definitions.json`. */
function goType(type: string): string {
  if (type.startsWith('[]')) return `[]${goType(type.slice(2))}`;
  if (type.startsWith('{}')) return `map[string]${goType(type.slice(2))}`;
  if (type === 'boolean') return 'bool';
  if (type === 'double' || type === 'number') return 'float64';
  if (type === 'byte') return '[]uint8';
  if (type === 'date-time') return 'v1.Time';
  if (/^[A-Z]/.test(type)) return `${/V[0-9]+/.exec(type)?.[0].toLowerCase() ?? 'v1'}.${plainModel(type)}`;
  return type;
}

function readString(value: unknown, owner: string, path: string): unknown {
  if (typeof value === 'string') return value;
  throw mismatch(value, owner, path, 'string');
}

function readBoolean(value: unknown, owner: string, path: string): unknown {
  if (typeof value === 'boolean') return value;
  throw mismatch(value, owner, path, 'bool');
}

/**
 * Whether this module currently decodes like Go's converter from untyped objects instead of Go's JSON decoder. The
 * converter truncates large integers, but Go's JSON decoder refuses them.
 */
let isConverting = false;

/**
 * Decodes objects like `FromUnstructured` of apimachinery, for server-side apply and strategic merge patches. `read`
 * must be synchronous.
 */
export function convertUntyped<T>(read: () => T): T {
  isConverting = true;
  try {
    return read();
  } finally {
    isConverting = false;
  }
}

/** The numbers of the current body that are integers but have another notation, such as `1e3`. */
let oddNumbers: ReadonlyMap<string, string> = new Map();

const EMBEDDED_NAMES = /\.(?:VolumeSource|ProbeHandler)(?=\.)/g;

/** Go refuses a notation such as `1e3` for an integer. `read` must be synchronous. */
export function withOddNumbers<T>(numbers: ReadonlyMap<string, string>, read: () => T): T {
  oddNumbers = numbers;
  try {
    return read();
  } finally {
    oddNumbers = new Map();
  }
}

/** The current body may contain an integer in another notation. Returns the original text of this number. */
export const oddNumber = (value: unknown, path: string): string | undefined =>
  oddNumbers.size === 0 ? undefined : oddNumbers.get(`${path.replace(EMBEDDED_NAMES, '')} ${String(value)}`);

/** Go's converter uses the integer rules for an int-or-string, although this type has a special JSON decoder. */
const decodeInteger =
  (type: 'int32' | 'int64'): Reader =>
  (value, owner, path) => {
    if (typeof value === 'bigint' && type === 'int64') return value;
    if (!isNumber(value)) throw mismatch(value, owner, path, type);
    const odd = oddNumber(value, path);
    if (odd !== undefined) throw mismatch(value, owner, path, type, `number ${odd}`);
    const fits = Number.isSafeInteger(value) && (type === 'int64' || (value >= -(2 ** 31) && value < 2 ** 31));
    if (!fits) throw mismatch(value, owner, path, type, `number ${numberText(value)}`);
    return value;
  };

/**
 * Converts an integer as Go's converter does. An integer of more than 64 bits is a float, which becomes the smallest
 * integer.
 */
function convertedInteger(value: unknown): bigint | undefined {
  if (typeof value !== 'bigint' && !Number.isInteger(value)) return undefined;
  const whole = BigInt(value as number | bigint);
  return BigInt.asIntN(64, whole) === whole ? whole : -(2n ** 63n);
}

const readInt32: Reader = (value, owner, path) => {
  const whole = isConverting ? convertedInteger(value) : undefined;
  return whole === undefined ? decodeInteger('int32')(value, owner, path) : Number(BigInt.asIntN(32, whole));
};

const readInt64: Reader = (value, owner, path) => {
  const whole = isConverting ? convertedInteger(value) : undefined;
  if (whole === undefined) return decodeInteger('int64')(value, owner, path);
  return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
};

function readNumber(value: unknown, owner: string, path: string): unknown {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  throw mismatch(value, owner, path, 'float64');
}

/** Reads bytes from a list of numbers, because Go's decoder accepts either base64 or a list. */
function readByteList(list: readonly unknown[], owner: string, path: string): string {
  const bytes = list.map((item) => {
    const value = item ?? 0;
    if (typeof value !== 'number') throw mismatch(value, owner, path, 'uint8');
    const isByte = Number.isInteger(value) && value >= 0 && (isConverting || value < 256);
    if (!isByte) throw mismatch(value, owner, path, 'uint8', `number ${numberText(value)}`);
    return value % 256;
  });
  return Buffer.from(bytes).toString('base64');
}

/** As in Go, the error names the first invalid byte. */
function readBytes(text: unknown, owner: string, path: string): unknown {
  // Null becomes an empty list of bytes.
  if (text === null) return '';
  if (Array.isArray(text)) return readByteList(text, owner, path);
  if (typeof text !== 'string') throw mismatch(text, owner, path, '[]uint8');
  if (text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)) return text;
  const bare = text.replaceAll(/[\r\n]/g, '');
  if (bare.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(bare)) return bare;
  const wrong = text.search(/[^A-Za-z0-9+/\r\n]/);
  const why = `illegal base64 data at input byte ${wrong === -1 ? text.length - (text.length % 4) : wrong}`;
  throw new Mismatch(why, `error decoding from json: ${why}`);
}

const ZERO_TIME = '0001-01-01T00:00:00';

/**
 * Removes the fields that the model does not contain, even inside of nested structures. Returns the paths of these
 * fields.
 */
function dropUnknown(value: unknown, type: string, path: string): string[] {
  if (Array.isArray(value)) {
    const item = type.replace(/^\[\]/, '');
    return value.flatMap((one, at) => dropUnknown(one, item, `${path}[${at}]`));
  }
  if (isRecord(value) && type.startsWith('{}')) {
    return Object.entries(value).flatMap(([key, one]) => dropUnknown(one, type.slice(2), `${path}.${key}`));
  }
  if (!isRecord(value) || !/^V\d/.test(type)) return [];
  const { fields } = fieldsOfModel(type);
  const unknown: string[] = [];
  for (const key of Object.keys(value)) {
    const here = path === '' ? key : `${path}.${key}`;
    const field = fields[key];
    if (field === undefined) {
      unknown.push(here);
      delete value[key];
    } else unknown.push(...dropUnknown(value[key], field, here));
  }
  return unknown;
}

/**
 * Converts the metadata of an embedded object to Go types, and returns the paths of unknown fields.
 * @throws RangeError with the error text of Go's decoder for a wrong type
 */
export function readMeta(given: unknown): { meta: Record<string, unknown>; unknown: string[] } {
  const meta = given === null ? {} : given;
  if (!isRecord(meta))
    throw new RangeError(`json: cannot unmarshal ${goKind(meta)} into Go value of type v1.ObjectMeta`);
  try {
    const unknown = dropUnknown(meta, 'V1ObjectMeta', '');
    structureReader('V1ObjectMeta')(meta, '', '');
    if (meta.creationTimestamp === null) delete meta.creationTimestamp;
    return { meta, unknown };
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    throw new RangeError(error.message);
  }
}

/** Removes unknown fields from the metadata, and returns their paths. */
export const dropUnknownMeta = (meta: Record<string, unknown>, field: 'ownerReferences' | 'managedFields'): string[] =>
  dropUnknown(meta[field], fieldsOfModel('V1ObjectMeta').fields[field] ?? '', `metadata.${field}`);

export function metaFieldProblem(field: string, value: unknown): string | undefined {
  try {
    structureReader('V1ObjectMeta')({ [field]: structuredClone(value) }, '', '');
    return undefined;
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    return error.message;
  }
}

/** @throws DecodeError if the text is not an RFC 3339 time */
export function checkTime(text: string, object: Pick<ApiObject, 'apiVersion' | 'kind'>): void {
  try {
    parseGoTime(text, false);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new DecodeError(error.message, object);
  }
}

/**
 * Returns the error text for a time that is not a string. Even for untyped objects, Go's converter uses the JSON
 * decoder of times.
 */
export const noTime = (value: unknown): string =>
  `json: cannot unmarshal ${goKind(value)} into Go value of type string`;

const readTime =
  (micro: boolean): Reader =>
  (value, owner, path) => {
    if (typeof value !== 'string') throw new Mismatch(mismatch(value, owner, path, 'string').message, noTime(value));
    let time: GoTime;
    try {
      time = parseGoTime(value, micro);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new Mismatch(error.message);
    }
    const { seconds, nanos } = time;
    if (seconds === ZERO_TIME && nanos === 0) return null;
    return micro ? `${seconds}.${String(Math.trunc(nanos / 1000)).padStart(6, '0')}Z` : `${seconds}Z`;
  };

const SPACES =
  /^[ \u0085\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+|[ \u0085\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+$/g;

/**
 * Returns all digits of a number. For a large double, Go's converter and JavaScript print only the digits that identify
 * the double, and then zeros.
 */
const digitsOf = (value: number | bigint): string =>
  typeof value === 'number' && Number.isInteger(value) && !isConverting ? BigInt(value).toString() : String(value);

function readQuantity(value: unknown, _owner: string, path: string): unknown {
  const numeric = isNumber(value);
  // In the JSON text, all white space except spaces is escaped, so Go trims only spaces.
  const text = numeric
    ? (oddNumber(value, path) ?? digitsOf(value))
    : typeof value === 'string'
      ? value.replace(SPACES, '')
      : value;
  const written = typeof text === 'string' ? canonicalQuantity(text) : undefined;
  if (written === undefined) throw new Mismatch(QUANTITY_ERROR);
  return written;
}

function readIntOrString(value: unknown, owner: string, path: string): unknown {
  if (typeof value === 'string') return value;
  try {
    return decodeInteger('int32')(value, owner, path);
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    const found = isNumber(value) ? `number ${numberText(value)}` : goKind(value);
    throw new Mismatch(error.message, `json: cannot unmarshal ${found} into Go value of type int32`);
  }
}

const SCHEMA = 'V1JSONSchemaProps';

/**
 * As in Go's special decoder, error paths start at the nested schema, and the function does not report unknown fields.
 */
function readSchema(value: unknown): unknown {
  dropUnknown(value, SCHEMA, '');
  return readerOf(SCHEMA)(value, '', '');
}

function readSchemaOrBool(value: unknown): unknown {
  if (isRecord(value)) return readSchema(value);
  if (typeof value === 'boolean') return value;
  throw new Mismatch('boolean or JSON schema expected');
}

/** Reads a schema or a list of schemas. */
function readSchemaOrArray(value: unknown): unknown {
  if (isRecord(value)) return readSchema(value);
  return Array.isArray(value) ? value.map((item) => readSchema(item ?? {})) : value;
}

function readEmpty(value: unknown, owner: string, path: string): unknown {
  if (isRecord(value)) return value;
  throw mismatch(value, owner, path, 'v1.CustomResourceSubresourceStatus');
}

const scalars: Readonly<Record<string, Reader>> = {
  string: readString,
  boolean: readBoolean,
  number: readNumber,
  double: readNumber,
  int32: readInt32,
  int64: readInt64,
  byte: readBytes,
  'date-time': readTime(false),
  'date-time-micro': readTime(true),
  'int-or-string': readIntOrString,
  quantity: readQuantity,
  any: (value) => value,
  empty: readEmpty,
  'schema-or-bool': readSchemaOrBool,
  'schema-or-array': readSchemaOrArray,
};

const zeros: Readonly<Record<string, unknown>> = {
  string: '',
  boolean: false,
  number: 0,
  double: 0,
  int32: 0,
  int64: 0,
  'int-or-string': 0,
  quantity: '0',
};

function readerOf(type: string): Reader {
  if (type.startsWith('[]')) {
    const item = readerOf(type.slice(2));
    const words = goType(type);
    return (value, owner, path) => {
      if (!Array.isArray(value)) throw mismatch(value, owner, path, words);
      for (let at = 0; at < value.length; at++) value[at] = item(value[at] ?? zeroOf(type.slice(2)), owner, path);
      return value;
    };
  }
  if (type.startsWith('{}')) {
    const item = readerOf(type.slice(2));
    const words = goType(type);
    return (value, owner, path) => {
      if (!isRecord(value)) throw mismatch(value, owner, path, words);
      for (const key of Object.keys(value)) value[key] = item(value[key] ?? zeroOf(type.slice(2)), owner, path);
      return value;
    };
  }
  return scalars[type] ?? structureReader(type);
}

const zeroOf = (type: string): unknown => {
  if (/^[A-Z]/.test(type)) return {};
  return zeros[type] ?? null;
};

const isZero = (value: unknown): boolean => {
  if (value === '' || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (isRecord(value)) {
    for (const _key in value) return false;
    return true;
  }
  return false;
};

const MODES: readonly Mode[] = ['dropped', 'structure', 'kept', 'omitted', 'null'];

let shapes: Map<string, Map<string, Mode>> | undefined;

function shapeOf(owner: string): ReadonlyMap<string, Mode> | undefined {
  if (shapes === undefined) {
    shapes = new Map();
    for (const row of SHAPES.trim().split('\n')) {
      const [name = '', columns = ''] = row.split(': ');
      const modes = shapes.get(name) ?? new Map<string, Mode>();
      for (const [at, fields] of columns.split('|').entries()) {
        for (const field of fields.split(' ')) if (field !== '') modes.set(field, MODES[at] ?? 'optional');
      }
      shapes.set(name, modes);
    }
  }
  return shapes.get(owner);
}

/** Returns whether a field is a pointer. */
export const isPointer = (structure: string, field: string): boolean =>
  (shapeOf(factName(structure))?.get(field) ?? 'optional') === 'optional';

function compileFields(model: string): readonly Field[] {
  const { owner, fields } = fieldsOfModel(model);
  const modes = shapeOf(owner);
  return Object.entries(fields)
    .filter(([name]) => name !== 'apiVersion' || !('kind' in fields) || !('metadata' in fields))
    .filter(([name]) => name !== 'kind' || !('apiVersion' in fields) || !('metadata' in fields))
    .map(([name, type]) => {
      const path = `${owner}.${name}`;
      const trueType = ownReaders.get(path) ?? quantityFields.get(path) ?? type;
      return {
        name,
        mode: modes?.get(name) ?? 'optional',
        read: readerOf(trueType),
        zero: zeroOf(trueType),
      };
    });
}

/** The embedded structures of Go types, because the error paths of Go's decoder contain their names. */
const EMBEDDED: Readonly<Record<string, readonly [structure: string, own: ReadonlySet<string>]>> = {
  Volume: ['VolumeSource', new Set(['name'])],
  Probe: [
    'ProbeHandler',
    new Set([
      'initialDelaySeconds',
      'timeoutSeconds',
      'periodSeconds',
      'successThreshold',
      'failureThreshold',
      'terminationGracePeriodSeconds',
    ]),
  ],
};

function readField(record: Record<string, unknown>, field: Field, owner: string, path: string): void {
  const { name, mode } = field;
  const value = record[name];
  if (value === undefined || value === null) {
    if (mode === 'kept') record[name] = field.zero;
    else if (mode === 'null') record[name] = null;
    else if (mode === 'structure') record[name] = field.read({}, owner, path);
    else if (value === null) delete record[name];
    return;
  }
  const embedded = EMBEDDED[owner];
  const inner = embedded === undefined || embedded[1].has(name) ? name : `${embedded[0]}.${name}`;
  const read = field.read(value, owner, path === '' ? inner : `${path}.${inner}`);
  if ((mode === 'dropped' || mode === 'omitted') && isZero(read)) {
    delete record[name];
    if (mode === 'dropped' && typeof read === 'object') noteEmpty(record, name, read);
  } else if (mode === 'kept' && Array.isArray(read) && read.length === 0) {
    record[name] = null;
    noteEmpty(record, name, read);
  } else if (read !== value) record[name] = read;
}

const structureReaders = new Map<string, Reader>();

function structureReader(model: string): Reader {
  const known = structureReaders.get(model);
  if (known !== undefined) return known;
  const words = goType(model);
  const name = plainModel(model);
  let fields: readonly Field[] | undefined;
  const reader: Reader = (value, owner, path) => {
    if (!isRecord(value)) throw mismatch(value, owner, path, words);
    fields ??= compileFields(model);
    for (const field of fields) readField(value, field, name, path);
    return value;
  };
  structureReaders.set(model, reader);
  return reader;
}

/**
 * Converts an object as a round trip through the Go types does. Quantities become canonical, times become UTC, zero
 * fields are omitted or set, and nulls are removed.
 * @throws DecodeError if a value has a wrong type
 */
export function roundTrip(object: ApiObject, model: string): void {
  try {
    structureReader(model)(object, '', '');
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    throw new DecodeError(error.message, object, error.converterMessage);
  }
}
