import { isRecord, put } from '../apimachinery/objects/json-value.ts';
import type { Json, JsonObject } from '../apimachinery/objects/object.ts';

const EITHER = [{ type: 'integer' }, { type: 'string' }];

/** Keywords with boolean values that are omitted if they are false. */
const FLAGS = [
  'nullable',
  'uniqueItems',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-preserve-unknown-fields',
] as const;

/** The parts of the published schema of a custom kind that its CRD lacks. */
export interface Published {
  /** Whether the document is OpenAPI v2, which omits keywords that its clients misinterpret. */
  readonly isV2: boolean;
  /** The fields that every whole object has. */
  readonly resourceFields: JsonObject;
}

const isTrue = (schema: JsonObject, word: string): boolean => schema[word] === true;

function saysEither(schema: JsonObject): boolean {
  if (Array.isArray(schema.anyOf)) return true;
  return Array.isArray(schema.allOf) && schema.allOf.some((one) => isRecord(one) && Array.isArray(one.anyOf));
}

/** Applies `change` to a property and to all schemas in it. */
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

/** Completes a schema. An int-or-string gets both of its types, and an embedded resource gets its fields. */
export const publishedSchema = (schema: Json, { isV2, resourceFields }: Published): Json =>
  everySchema(schema, (one) => {
    const made = { ...one };
    // Clients that write protobuf send every boolean of a CRD, including false. Like the real server, this server
    // publishes only true.
    for (const word of FLAGS) if (made[word] === false) delete made[word];
    if (!isV2 && isTrue(made, 'x-kubernetes-int-or-string') && !saysEither(made)) made.anyOf = structuredClone(EITHER);
    // kubectl refuses unknown fields of an object with known fields. For kubectl, an object that keeps unknown fields
    // therefore gets no known fields in OpenAPI v2.
    const isOpen = isV2 && isTrue(made, 'x-kubernetes-preserve-unknown-fields');
    if (!isTrue(made, 'x-kubernetes-embedded-resource') || isOpen) return made;
    made.properties = { ...(isRecord(made.properties) ? made.properties : {}), ...structuredClone(resourceFields) };
    const required = Array.isArray(made.required) ? made.required : [];
    made.required = [...required, ...['kind', 'apiVersion'].filter((field) => !required.includes(field))];
    return made;
  });
