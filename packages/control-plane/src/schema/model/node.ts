import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { JsonSchema } from '../../apimachinery/objects/kind.ts';
import { type GoRegExp, type RegExpError, readRegExp } from './regexp.ts';

export interface RuleSpec {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

/** Returns a limit in a schema. As in the Go types, a limit is a double. */
const asNumber = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : typeof value === 'bigint' ? Number(value) : undefined;
const asString = (value: unknown): string => (typeof value === 'string' ? value : '');
const asSchema = (value: unknown): JsonSchema | undefined => (isRecord(value) ? (value as JsonSchema) : undefined);
const asSchemas = (value: unknown): JsonSchema[] =>
  Array.isArray(value) ? value.filter(isRecord).map((entry) => entry as JsonSchema) : [];

const typesOf = (schema: JsonSchema, intOrString: boolean): string[] => {
  if (typeof schema.type === 'string' && schema.type !== '') return [schema.type];
  return intOrString ? ['integer', 'string'] : [];
};

const NO_PROPERTIES: ReadonlyMap<string, SchemaNode> = new Map();

/** The getters parse child schemas at their first use, because built-in schemas are large and partly recursive. */
export class SchemaNode {
  readonly schema: JsonSchema;
  readonly types: readonly string[];
  readonly format: string;
  readonly nullable: boolean;
  readonly intOrString: boolean;
  readonly preserve: boolean;
  readonly embedded: boolean;
  /** Whether `additionalProperties` is true, so that unknown fields stay. */
  readonly additionalAllowed: boolean;
  /** Whether `additionalProperties` is false, so that the schema allows no other fields. */
  readonly closed: boolean;
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
  readonly patternText: string;
  readonly minItems: number | undefined;
  readonly maxItems: number | undefined;
  readonly minProperties: number | undefined;
  readonly maxProperties: number | undefined;
  readonly listType: string;
  readonly listMapKeys: readonly string[];
  readonly mapType: string;
  readonly rules: readonly RuleSpec[];
  /** Whether the schema has allOf, anyOf, oneOf or not. */
  readonly combined: boolean;
  #pattern: GoRegExp | RegExpError | undefined;
  #properties: ReadonlyMap<string, SchemaNode> | undefined;
  #below = new Map<string, boolean>();

  constructor(schema: JsonSchema) {
    this.schema = schema;
    this.intOrString = schema['x-kubernetes-int-or-string'] === true || schema.format === 'int-or-string';
    this.types = typesOf(schema, this.intOrString);
    this.format = this.intOrString ? '' : asString(schema.format);
    this.nullable = schema.nullable === true;
    this.preserve = schema['x-kubernetes-preserve-unknown-fields'] === true;
    this.embedded = schema['x-kubernetes-embedded-resource'] === true;
    this.additionalAllowed = schema.additionalProperties === true;
    this.closed = schema.additionalProperties === false;
    this.required = Array.isArray(schema.required) ? schema.required : [];
    this.hasDefault = schema.default !== undefined;
    this.default = schema.default;
    this.enum = Array.isArray(schema.enum) && schema.enum.length > 0 ? schema.enum : undefined;
    this.minimum = asNumber(schema.minimum);
    this.maximum = asNumber(schema.maximum);
    this.exclusiveMinimum = schema.exclusiveMinimum === true;
    this.exclusiveMaximum = schema.exclusiveMaximum === true;
    this.multipleOf = asNumber(schema.multipleOf);
    this.minLength = asNumber(schema.minLength);
    this.maxLength = asNumber(schema.maxLength);
    this.patternText = asString(schema.pattern);
    this.minItems = asNumber(schema.minItems);
    this.maxItems = asNumber(schema.maxItems);
    this.minProperties = asNumber(schema.minProperties);
    this.maxProperties = asNumber(schema.maxProperties);
    this.listType = asString(schema['x-kubernetes-list-type']);
    const keys = schema['x-kubernetes-list-map-keys'];
    this.listMapKeys = Array.isArray(keys) ? keys : [];
    this.mapType = asString(schema['x-kubernetes-map-type']);
    const rules = schema['x-kubernetes-validations'];
    this.rules = Array.isArray(rules) ? rules : [];
    this.combined =
      ['allOf', 'anyOf', 'oneOf'].some((word) => asSchemas(schema[word]).length > 0) || isRecord(schema.not);
  }

  get pattern(): GoRegExp | RegExpError | undefined {
    if (this.patternText !== '') this.#pattern ??= readRegExp(this.patternText);
    return this.#pattern;
  }

  get properties(): ReadonlyMap<string, SchemaNode> {
    if (this.#properties === undefined) {
      const source = this.schema.properties;
      this.#properties = isRecord(source)
        ? new Map(Object.keys(source).map((name) => [name, nodeOf(source[name] ?? {})]))
        : NO_PROPERTIES;
    }
    return this.#properties;
  }

  get additional(): SchemaNode | undefined {
    const schema = asSchema(this.schema.additionalProperties);
    return schema === undefined ? undefined : nodeOf(schema);
  }

  get items(): SchemaNode | undefined {
    const schema = asSchema(this.schema.items);
    return schema === undefined ? undefined : nodeOf(schema);
  }

  get allOf(): SchemaNode[] {
    return asSchemas(this.schema.allOf).map(nodeOf);
  }

  get anyOf(): SchemaNode[] {
    return asSchemas(this.schema.anyOf).map(nodeOf);
  }

  get oneOf(): SchemaNode[] {
    return asSchemas(this.schema.oneOf).map(nodeOf);
  }

  get not(): SchemaNode | undefined {
    const schema = asSchema(this.schema.not);
    return schema === undefined ? undefined : nodeOf(schema);
  }

  /** Whether the schema, or a schema inside of it, has a default. */
  get defaultsBelow(): boolean {
    return this.#has('defaults', (node) => node.hasDefault);
  }

  /** Whether the schema, or a schema inside of it, has CEL rules. */
  get rulesBelow(): boolean {
    return this.#has('rules', (node) => node.rules.length > 0);
  }

  /** Whether the schema, or a schema inside of it, is a set or a list with keys. */
  get listsBelow(): boolean {
    return this.#has('lists', (node) => node.listType === 'map' || node.listType === 'set');
  }

  /** Whether the schema, or a schema inside of it, is an embedded resource. */
  get embeddedBelow(): boolean {
    return this.#has('embedded', (node) => node.embedded);
  }

  #has(what: string, test: (node: SchemaNode) => boolean): boolean {
    let found = this.#below.get(what);
    if (found === undefined) {
      found = this.#reaches(what, test, new Set());
      this.#below.set(what, found);
    }
    return found;
  }

  #reaches(what: string, test: (node: SchemaNode) => boolean, seen: Set<SchemaNode>): boolean {
    const known = this.#below.get(what);
    if (known !== undefined) return known;
    if (seen.has(this)) return false;
    seen.add(this);
    if (test(this)) return true;
    for (const child of this.#children()) if (child.#reaches(what, test, seen)) return true;
    return false;
  }

  *#children(): Generator<SchemaNode> {
    yield* this.properties.values();
    if (this.additional !== undefined) yield this.additional;
    if (this.items !== undefined) yield this.items;
  }
}

const nodes = new WeakMap<object, SchemaNode>();

export function nodeOf(schema: JsonSchema): SchemaNode {
  let node = nodes.get(schema);
  if (node === undefined) {
    node = new SchemaNode(schema);
    nodes.set(schema, node);
  }
  return node;
}
