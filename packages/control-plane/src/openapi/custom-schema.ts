import { isRecord, put } from '../apimachinery/objects/json-value.ts';
import type { Json, JsonObject } from '../apimachinery/objects/object.ts';

const EITHER = [{ type: 'integer' }, { type: 'string' }];

/** Boolean keywords that the document omits if the value is false. */
const FLAGS = [
  'nullable',
  'uniqueItems',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-preserve-unknown-fields',
] as const;

export interface Published {
  /**
   * Whether the document has the format OpenAPI v2. Clients of v2 misinterpret some keywords, so the document omits
   * them.
   */
  readonly isV2: boolean;
  readonly resourceFields: JsonObject;
}

const isTrue = (schema: JsonObject, word: string): boolean => schema[word] === true;

export const isOpen = (schema: JsonObject): boolean => isTrue(schema, 'x-kubernetes-preserve-unknown-fields');

function saysEither(schema: JsonObject): boolean {
  if (Array.isArray(schema.anyOf)) return true;
  return Array.isArray(schema.allOf) && schema.allOf.some((one) => isRecord(one) && Array.isArray(one.anyOf));
}

function everySchema(schema: Json, change: (schema: JsonObject) => JsonObject): Json {
  if (!isRecord(schema)) return schema;
  const made: JsonObject = { ...(schema as JsonObject) };
  for (const word of ['items', 'additionalProperties']) {
    const below = made[word];
    if (isRecord(below)) made[word] = everySchema(below as Json, change);
  }
  if (isRecord(made.properties)) {
    const properties: JsonObject = {};
    for (const [name, property] of Object.entries(made.properties))
      put(properties, name, everySchema(property as Json, change));
    made.properties = properties;
  }
  return change(made);
}

/**
 * Completes the schema of a CRD for publication. An int-or-string gets both types, and an embedded resource gets the
 * fields of every resource.
 */
export const publishedSchema = (schema: Json, { isV2, resourceFields }: Published): Json =>
  everySchema(schema, (one) => {
    const made = { ...one };
    // A client that writes protobuf sends every boolean of a CRD, even a false one. Like kube-apiserver, this server
    // omits false booleans.
    for (const word of FLAGS) if (made[word] === false) delete made[word];
    if (!isV2 && isTrue(made, 'x-kubernetes-int-or-string') && !saysEither(made)) made.anyOf = structuredClone(EITHER);
    // kubectl refuses a field that the properties of a schema do not contain. In OpenAPI v2, an object that keeps
    // unknown fields therefore has no properties.
    if (!isTrue(made, 'x-kubernetes-embedded-resource') || (isV2 && isOpen(made))) return made;
    made.properties = { ...(isRecord(made.properties) ? made.properties : {}), ...structuredClone(resourceFields) };
    const required = Array.isArray(made.required) ? made.required : [];
    made.required = [...required, ...['kind', 'apiVersion'].filter((field) => !required.includes(field))];
    return made;
  });

/** Keywords that OpenAPI v2 does not support, or that clients of v2 misinterpret. */
const V3_WORDS = new Set(['oneOf', 'anyOf', 'allOf', 'not', 'nullable', 'default']);

const isNullable = (schema: unknown): boolean => isRecord(schema) && schema.nullable === true;

/** Returns the required fields for OpenAPI v2. */
function requiredInV2({ required, properties, additionalProperties }: JsonObject): Json[] {
  if (!Array.isArray(required) || isNullable(additionalProperties)) return [];
  const fields = isRecord(properties) ? properties : {};
  return required.filter((name) => !isNullable(fields[String(name)]));
}

/** Converts the schema of a custom kind to OpenAPI v2 (`ToStructuralOpenAPIV2`). */
export function schemaInV2(schema: Json): Json {
  if (!isRecord(schema)) return schema;
  const made: JsonObject = {};
  const open = isOpen(schema);
  for (const word of Object.keys(schema)) if (!V3_WORDS.has(word)) made[word] = schema[word] as Json;
  // kubectl expects no properties and no items if an object keeps unknown fields, or if a value has no type.
  if (schema.nullable === true || open) {
    delete made.items;
    delete made.properties;
  }
  const isUntyped = schema.nullable === true || (open && made.type === 'object');
  if (isUntyped || (made.type === 'array' && made.items === undefined)) delete made.type;
  const required = requiredInV2({ ...schema, properties: made.properties ?? {} });
  if (required.length > 0) made.required = required;
  else delete made.required;
  for (const word of ['items', 'additionalProperties']) {
    if (made[word] !== undefined) made[word] = schemaInV2(made[word]);
  }
  if (isRecord(made.properties)) {
    const properties: JsonObject = {};
    for (const [name, property] of Object.entries(made.properties)) put(properties, name, schemaInV2(property as Json));
    made.properties = properties;
  }
  return made;
}
