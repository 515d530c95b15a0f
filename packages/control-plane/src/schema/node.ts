import type { JsonSchema } from '../kinds/kind.ts';
import { isRecord } from './json.ts';

/** A CEL rule of `x-kubernetes-validations`. */
export interface RuleSpec {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

/** A schema read once into the shape that pruning, defaulting and validation walk. */
export interface SchemaNode {
  readonly types: readonly string[];
  readonly format: string;
  readonly nullable: boolean;
  readonly intOrString: boolean;
  readonly preserve: boolean;
  readonly embedded: boolean;
  readonly properties: ReadonlyMap<string, SchemaNode>;
  readonly additional: SchemaNode | undefined;
  /** `additionalProperties: true` keeps every field. */
  readonly additionalAllowed: boolean;
  /** `additionalProperties: false` */
  readonly closed: boolean;
  readonly items: SchemaNode | undefined;
  readonly required: readonly string[];
  readonly hasDefault: boolean;
  readonly default: unknown;
  readonly enum: readonly unknown[] | undefined;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
  readonly exclusiveMinimum: boolean;
  readonly exclusiveMaximum: boolean;
  readonly multipleOf: number | undefined;
  readonly minLength: number | undefined;
  readonly maxLength: number | undefined;
  readonly pattern: RegExp | undefined;
  readonly patternText: string;
  readonly minItems: number | undefined;
  readonly maxItems: number | undefined;
  readonly minProperties: number | undefined;
  readonly maxProperties: number | undefined;
  readonly allOf: readonly SchemaNode[];
  readonly anyOf: readonly SchemaNode[];
  readonly oneOf: readonly SchemaNode[];
  readonly not: SchemaNode | undefined;
  readonly listType: string;
  readonly listMapKeys: readonly string[];
  readonly mapType: string;
  readonly rules: readonly RuleSpec[];
  /** Some node below (or this one) has a default. */
  readonly defaultsBelow: boolean;
  /** Some node below (or this one) has CEL rules. */
  readonly rulesBelow: boolean;
  /** Some node below (or this one) is a list-map, a set or an embedded resource. */
  readonly listsBelow: boolean;
  readonly schema: JsonSchema;
}

const asNumber = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
const asString = (value: unknown): string => (typeof value === 'string' ? value : '');
const asSchema = (value: unknown): JsonSchema | undefined => (isRecord(value) ? (value as JsonSchema) : undefined);
const asSchemas = (value: unknown): JsonSchema[] =>
  Array.isArray(value) ? value.filter(isRecord).map((entry) => entry as JsonSchema) : [];

/** Go's RE2 syntax is nearly JavaScript's; what differs in everyday patterns is rewritten. */
export function goRegExp(pattern: string): RegExp | undefined {
  let flags = 'u';
  let source = pattern
    .replace(/\(\?P</g, '(?<')
    .replace(/\\z/g, '$')
    .replace(/\\A/g, '^')
    .replace(/\\Q(.*?)\\E/g, '$1');
  const inline = /^\(\?([ims]+)\)/.exec(source);
  if (inline !== null) {
    flags += inline[1] ?? '';
    source = source.slice(inline[0].length);
  }
  source = source
    .replace(/\[\[:alpha:\]\]/g, '[A-Za-z]')
    .replace(/\[:alpha:\]/g, 'A-Za-z')
    .replace(/\[:digit:\]/g, '0-9')
    .replace(/\[:alnum:\]/g, '0-9A-Za-z')
    .replace(/\[:lower:\]/g, 'a-z')
    .replace(/\[:upper:\]/g, 'A-Z')
    .replace(/\[:space:\]/g, '\\s')
    .replace(/\[:word:\]/g, '\\w');
  for (const attempt of [flags, flags.replace('u', '')]) {
    try {
      return new RegExp(source, attempt);
    } catch (error) {
      // Without the `u` flag JavaScript accepts needless escapes such as `\-`, which Go accepts as well.
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  return undefined;
}

const typesOf = (schema: JsonSchema, intOrString: boolean): string[] => {
  if (typeof schema.type === 'string' && schema.type !== '') return [schema.type];
  return intOrString ? ['integer', 'string'] : [];
};

const closedOf = (schema: JsonSchema): boolean => schema.additionalProperties === false;

const compiled = new WeakMap<object, SchemaNode>();

/** Reads a schema into nodes. The result is kept with the schema, so it is read once however often it is asked for. */
export function nodeOf(schema: JsonSchema): SchemaNode {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const node = buildNode(schema);
  compiled.set(schema, node);
  return node;
}

function buildNode(schema: JsonSchema): SchemaNode {
  const properties = new Map<string, SchemaNode>();
  if (isRecord(schema.properties)) {
    for (const [name, property] of Object.entries(schema.properties)) properties.set(name, nodeOf(property));
  }
  const additionalSchema = asSchema(schema.additionalProperties);
  const additional = additionalSchema === undefined ? undefined : nodeOf(additionalSchema);
  const itemSchema = asSchema(schema.items);
  const items = itemSchema === undefined ? undefined : nodeOf(itemSchema);
  const rules = Array.isArray(schema['x-kubernetes-validations'])
    ? (schema['x-kubernetes-validations'] as RuleSpec[])
    : [];
  const children = [...properties.values(), ...(additional ? [additional] : []), ...(items ? [items] : [])];
  const intOrString = schema['x-kubernetes-int-or-string'] === true || schema.format === 'int-or-string';
  const listType = asString(schema['x-kubernetes-list-type']);
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  const notSchema = asSchema(schema.not);
  const hasDefault = schema.default !== undefined;
  const patternText = asString(schema.pattern);
  return {
    types: typesOf(schema, intOrString),
    format: intOrString ? '' : asString(schema.format),
    nullable: schema.nullable === true,
    intOrString,
    preserve: schema['x-kubernetes-preserve-unknown-fields'] === true,
    embedded,
    properties,
    additional,
    additionalAllowed: schema.additionalProperties === true,
    closed: closedOf(schema),
    items,
    required: Array.isArray(schema.required) ? schema.required : [],
    hasDefault,
    default: schema.default,
    enum: Array.isArray(schema.enum) && schema.enum.length > 0 ? schema.enum : undefined,
    minimum: asNumber(schema.minimum),
    maximum: asNumber(schema.maximum),
    exclusiveMinimum: schema.exclusiveMinimum === true,
    exclusiveMaximum: schema.exclusiveMaximum === true,
    multipleOf: asNumber(schema.multipleOf),
    minLength: asNumber(schema.minLength),
    maxLength: asNumber(schema.maxLength),
    pattern: patternText === '' ? undefined : goRegExp(patternText),
    patternText,
    minItems: asNumber(schema.minItems),
    maxItems: asNumber(schema.maxItems),
    minProperties: asNumber(schema.minProperties),
    maxProperties: asNumber(schema.maxProperties),
    allOf: asSchemas(schema.allOf).map(nodeOf),
    anyOf: asSchemas(schema.anyOf).map(nodeOf),
    oneOf: asSchemas(schema.oneOf).map(nodeOf),
    not: notSchema === undefined ? undefined : nodeOf(notSchema),
    listType,
    listMapKeys: Array.isArray(schema['x-kubernetes-list-map-keys'])
      ? (schema['x-kubernetes-list-map-keys'] as string[])
      : [],
    mapType: asString(schema['x-kubernetes-map-type']),
    rules,
    defaultsBelow: hasDefault || children.some((child) => child.defaultsBelow),
    rulesBelow: rules.length > 0 || children.some((child) => child.rulesBelow),
    listsBelow: listType === 'map' || listType === 'set' || embedded || children.some((child) => child.listsBelow),
    schema,
  };
}
