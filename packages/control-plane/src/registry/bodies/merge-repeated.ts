import { exactInteger } from '../../apimachinery/objects/json.ts';
import { isNumber, isRecord, own, put } from '../../apimachinery/objects/json-value.ts';
import type { JsonSchema } from '../../apimachinery/objects/kind.ts';
import { SHARED_SCALARS } from '../../resources/schemas.ts';
import { isPointer } from '../../resources/shape.ts';

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gs;

const parseWord = (word: string): unknown => {
  const value: unknown = JSON.parse(word);
  return typeof value === 'number' && /^-?\d+$/.test(word) ? exactInteger(word, value) : value;
};

/**
 * Returns the value that Go's decoder reads for a repeated field whose last value is null.
 * @param holder the schema of the structure that contains the field
 */
function readNull(first: unknown, holder: JsonSchema | undefined, key: string): unknown {
  const schema = schemaOf(holder, key);
  const { $id: id, ...of } = schema ?? {};
  const structure = holder?.$id;
  if (typeof structure !== 'string' || schema === undefined) return null;
  // In Go's decoder, a null leaves a RawExtension unchanged.
  if (id === SHARED_SCALARS.raw && !structure.endsWith('.AllocatedDeviceStatus')) return first;
  if (isPointer(structure, key)) return null;
  // As in kube-apiserver, the printed quantity keeps its first text, although its value is zero after the null.
  if (id === SHARED_SCALARS.quantity) return first;
  if (id === SHARED_SCALARS.intOrString) return typeof first === 'number' ? first : 0;
  const isCleared = of.type === 'array' || isRecord(of.additionalProperties) || typeof of.format === 'string';
  const numeric = of.type === 'integer' || of.type === 'number';
  return (isCleared && !numeric) || of.type === undefined ? null : first;
}

/** Returns whether Go stores the JSON text of a field without decoding the text. */
const isRaw = (schema: JsonSchema | undefined): boolean =>
  schema?.type === undefined && schema?.['x-kubernetes-preserve-unknown-fields'] === true;

/**
 * Merges the second value of a repeated field into the first value, as Go's decoder does. The function merges the
 * fields of objects, merges lists by index, and replaces objects in a map. Null clears lists, maps and pointers, but
 * does not change scalars.
 */
function readInto(first: unknown, second: unknown, schema: JsonSchema | undefined): unknown {
  if (Array.isArray(first) && Array.isArray(second)) {
    // If the second list contains a null, the item of the first list stays.
    return second.map((item, index) =>
      item === null ? (first[index] ?? null) : readInto(first[index], item, schema?.items),
    );
  }
  if (!isRecord(first) || !isRecord(second) || isRaw(schema)) return second;
  const isMap = isRecord(schema?.additionalProperties);
  const merged: Record<string, unknown> = { ...first };
  for (const [key, value] of Object.entries(second)) {
    put(merged, key, isMap ? value : readField(own(first, key), value, schema, key));
  }
  return merged;
}

const FITS: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isRecord,
  array: Array.isArray,
  boolean: (value) => typeof value === 'boolean',
  string: (value) => typeof value === 'string',
  integer: isNumber,
};

/** Returns whether a value and all its inner values have the types of the schema. */
function isReadable(value: unknown, schema: JsonSchema | undefined): boolean {
  if (value === null || value === undefined || schema === undefined) return true;
  const fits = schema.$id === undefined || schema.type === 'object' ? FITS[String(schema.type)] : undefined;
  if (fits === undefined) return true;
  if (!fits(value)) return false;
  if (Array.isArray(value)) return value.every((item) => isReadable(item, schema.items));
  if (!isRecord(value)) return true;
  const inner = isRecord(schema.additionalProperties) ? (schema.additionalProperties as JsonSchema) : undefined;
  return Object.entries(value).every(([key, item]) => isReadable(item, inner ?? schemaOf(schema, key)));
}

/** Merges two values of a field. */
function readField(first: unknown, second: unknown, holder: JsonSchema | undefined, key: string): unknown {
  if (first === undefined || first === null) return second;
  const schema = schemaOf(holder, key);
  if (!isReadable(first, schema)) return first;
  return second === null ? readNull(first, holder, key) : readInto(first, second, schema);
}

const schemaOf = (schema: JsonSchema | undefined, key: string): JsonSchema | undefined => {
  const properties = schema?.properties;
  return properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
};

/**
 * Parses JSON with repeated fields like Go's decoder for built-in kinds. The function `parseJson` keeps only the last
 * value of a repeated field.
 */
export function parseMerging(text: string, schema: JsonSchema | undefined): unknown {
  const tokens = text.match(TOKEN) ?? [];
  let at = 0;

  function value(of: JsonSchema | undefined): unknown {
    const token = tokens[at++] ?? 'null';
    if (token === '{') return object(of);
    if (token === '[') return list(of);
    return parseWord(token);
  }

  function object(of: JsonSchema | undefined): Record<string, unknown> {
    const fields: Record<string, unknown> = {};
    const inner = isRecord(of?.additionalProperties) ? (of.additionalProperties as JsonSchema) : undefined;
    // If a map key is repeated, the last value counts, but an earlier value of a wrong type is an error.
    const again = (first: unknown, second: unknown, key: string): unknown => {
      if (inner === undefined) return readField(first, second, of, key);
      return isReadable(first, inner) ? second : first;
    };
    while (tokens[at] !== '}' && at < tokens.length) {
      const key = String(JSON.parse(tokens[at++] ?? '""'));
      at++;
      const next = inner ?? schemaOf(of, key);
      const read = value(next);
      put(fields, key, Object.hasOwn(fields, key) ? again(own(fields, key), read, key) : read);
      if (tokens[at] === ',') at++;
    }
    at++;
    return fields;
  }

  function list(of: JsonSchema | undefined): unknown[] {
    const items: unknown[] = [];
    while (tokens[at] !== ']' && at < tokens.length) {
      items.push(value(of?.items));
      if (tokens[at] === ',') at++;
    }
    at++;
    return items;
  }

  return value(schema);
}
