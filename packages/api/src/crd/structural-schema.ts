import * as z from 'zod';
import type { CrdKeywords } from '../kinds/fields.ts';
import { defined } from '../values/defined.ts';

/** A structural schema of `apiextensions.k8s.io/v1`. */
export interface StructuralSchema extends CrdKeywords {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly minLength?: number;
  readonly anyOf?: readonly { readonly type: 'integer' | 'string' }[];
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: StructuralSchema;
  readonly items?: StructuralSchema;
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

const PLAIN_KEYWORDS = [
  'description',
  'type',
  'format',
  'nullable',
  'enum',
  'default',
  'pattern',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'maxItems',
  'maxProperties',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
] as const;

/** The conversion drops these keywords, because they have no meaning in a structural schema. */
const DROPPED_KEYWORDS: ReadonlySet<string> = new Set(['$schema', 'propertyNames']);
const NESTED_KEYWORDS: ReadonlySet<string> = new Set([
  'properties',
  'required',
  'additionalProperties',
  'items',
  'anyOf',
]);
const KNOWN_KEYWORDS: ReadonlySet<string> = new Set([...PLAIN_KEYWORDS, ...DROPPED_KEYWORDS, ...NESTED_KEYWORDS]);

/**
 * Converts a zod schema to a structural schema.
 * @throws Error if the zod schema contains a keyword that is not supported
 */
export const structuralSchema = (schema: z.ZodType): StructuralSchema =>
  convert(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' }), '');

function convert(schema: JsonSchema, path: string): StructuralSchema {
  const unknown = Object.keys(schema).find((keyword) => !KNOWN_KEYWORDS.has(keyword));
  if (unknown !== undefined)
    throw new Error(`${path || 'the root'}: the keyword ${unknown} is not possible in a structural schema`);
  const plain: StructuralSchema = defined(
    Object.fromEntries(PLAIN_KEYWORDS.map((keyword) => [keyword, schema[keyword]])),
  );
  if (schema['x-kubernetes-int-or-string'] === true)
    return { ...plain, anyOf: [{ type: 'integer' }, { type: 'string' }] };
  return { ...withoutSafeIntegerBounds(plain), ...nested(schema, path) };
}

function nested(schema: JsonSchema, path: string): StructuralSchema {
  if (schema.anyOf) throw new Error(`${path}: only int-or-string fields may have alternatives`);
  const { properties, required, additionalProperties, items } = schema;
  return defined({
    required: required !== undefined && required.length > 0 ? required : undefined,
    properties: properties && convertProperties(properties, path),
    additionalProperties: isSchema(additionalProperties) ? convert(additionalProperties, `${path}.*`) : undefined,
    items: isSchema(items) ? convert(items, `${path}[]`) : undefined,
  });
}

const convertProperties = (properties: Readonly<Record<string, unknown>>, path: string) =>
  Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const inner = `${path}.${name}`;
      if (!isSchema(property)) throw new Error(`${inner}: not a schema`);
      return [name, convert(property, inner)];
    }),
  );

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;

/**
 * Removes the limits of JavaScript numbers, which zod adds to every integer. The format of an integer field already
 * limits its values.
 */
function withoutSafeIntegerBounds({ minimum, maximum, ...rest }: StructuralSchema): StructuralSchema {
  return defined({
    ...rest,
    minimum: minimum === Number.MIN_SAFE_INTEGER ? undefined : minimum,
    maximum: maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum,
  });
}
