import { cloneJson, isRecord, put } from '../apimachinery/objects/json-value.ts';
import type { JsonSchema, KindDefinition } from '../apimachinery/objects/kind.ts';
import type { Json, JsonObject } from '../apimachinery/objects/object.ts';
import definitions from '../kinds/generated/definitions.json' with { type: 'json' };
import { descriptionOf, enumsOf } from '../resources/docs.ts';
import { definitionSchema, SHARED_SCALARS } from '../resources/schemas.ts';
import { isOpen, publishedSchema, schemaInV2 } from './custom-schema.ts';
import { schemaName } from './names.ts';

const modelOfId: ReadonlyMap<string, string> = new Map(
  Object.entries(definitions).map(([model, { id }]) => [id, model]),
);

const INT_OR_STRING: JsonObject = { oneOf: [{ type: 'integer' }, { type: 'string' }] };

const SCALARS: ReadonlyMap<string, readonly [v3: JsonObject, v2: JsonObject]> = new Map([
  [SHARED_SCALARS.time, same({ type: 'string', format: 'date-time' })],
  [SHARED_SCALARS.microTime, same({ type: 'string', format: 'date-time' })],
  [
    SHARED_SCALARS.intOrString,
    [
      { format: 'int-or-string', ...INT_OR_STRING },
      { type: 'string', format: 'int-or-string' },
    ],
  ],
  [SHARED_SCALARS.quantity, [{ oneOf: [{ type: 'string' }, { type: 'number' }] }, { type: 'string' }]],
  [SHARED_SCALARS.fields, same({ type: 'object' })],
  [SHARED_SCALARS.raw, same({ type: 'object' })],
]);

function same(schema: JsonObject): readonly [JsonObject, JsonObject] {
  return [schema, schema];
}

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const LIST_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta';

const FIELD_TEXTS: Readonly<Record<string, string>> = {
  apiVersion:
    'APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources',
  kind: 'Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds',
  metadata:
    "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
};

const GVK = 'x-kubernetes-group-version-kind';

export interface Dialect {
  readonly prefix: '#/components/schemas/' | '#/definitions/';
}

export const V3: Dialect = { prefix: '#/components/schemas/' };
export const V2: Dialect = { prefix: '#/definitions/' };

/** Collects the schemas of kinds, and all definitions to which the kinds refer. */
export class Components {
  readonly schemas: JsonObject = {};
  private readonly dialect: Dialect;
  private readonly open: string[] = [];

  constructor(dialect: Dialect) {
    this.dialect = dialect;
  }

  add(kind: KindDefinition): void {
    const name = schemaName(kind);
    if (kind.schema?.$id !== undefined && modelOfId.has(name)) this.need(name);
    else put(this.schemas, name, this.customSchema(kind));
    this.drain();
    const schema = this.schemas[name];
    if (!isRecord(schema)) return;
    const entry = { group: kind.group, kind: kind.kind, version: kind.version };
    const known = schema[GVK];
    schema[GVK] = [...(Array.isArray(known) ? known : []), entry];
    this.addList(kind, name);
  }

  private addList(kind: KindDefinition, name: string): void {
    const list = `${name.slice(0, name.lastIndexOf('.'))}.${kind.listKind}`;
    this.need(LIST_META);
    this.drain();
    put(this.schemas, list, {
      description: `${kind.listKind} is a list of ${kind.kind}`,
      type: 'object',
      required: ['items'],
      properties: {
        apiVersion: { description: FIELD_TEXTS.apiVersion ?? '', type: 'string' },
        items: {
          description: `List of ${kind.plural}.`,
          type: 'array',
          items: { ...this.reference(name), default: {} },
        },
        kind: { description: FIELD_TEXTS.kind ?? '', type: 'string' },
        metadata: { description: FIELD_TEXTS.metadata ?? '', ...this.reference(LIST_META) },
      },
      [GVK]: [{ group: kind.group, kind: kind.listKind, version: kind.version }],
    });
  }

  reference(name: string): JsonObject {
    const $ref = `${this.dialect.prefix}${name}`;
    return this.dialect === V2 ? { $ref } : { allOf: [{ $ref }] };
  }

  private need(name: string): void {
    if (Object.hasOwn(this.schemas, name)) return;
    this.schemas[name] = {};
    this.open.push(name);
  }

  private drain(): void {
    for (let name = this.open.pop(); name !== undefined; name = this.open.pop()) {
      const model = modelOfId.get(name);
      const scalar = SCALARS.get(name)?.[this.dialect === V3 ? 0 : 1];
      if (model !== undefined) this.schemas[name] = this.definition(model);
      else if (scalar !== undefined) this.schemas[name] = { description: descriptionOf(name)?.text ?? '', ...scalar };
    }
  }

  private definition(model: string): JsonObject {
    const schema = definitionSchema(model);
    const docs = descriptionOf(model);
    const made = this.body(schema);
    if (docs !== undefined && docs.text !== '') made.description = docs.text;
    const properties = made.properties;
    if (docs !== undefined && isRecord(properties)) {
      for (const [field, text] of Object.entries(docs.fields)) {
        const property = properties[field];
        if (isRecord(property) && text !== '') properties[field] = { ...property, description: text };
      }
    }
    if (isRecord(properties)) {
      for (const [field, property] of Object.entries(properties)) properties[field] = unframed(property as JsonObject);
      addEnums(properties, enumsOf(model));
    }
    return made;
  }

  /** Returns the schema of a property. */
  private use(schema: JsonSchema): JsonObject {
    const { $id } = schema;
    if ($id !== undefined && SCALARS.has($id)) {
      this.need($id);
      return this.reference($id);
    }
    if ($id === undefined || !modelOfId.has($id)) return this.body(schema);
    this.need($id);
    const base = definitionSchema(modelOfId.get($id) ?? '');
    const made = this.reference($id);
    for (const word of Object.keys(schema)) {
      if ((word.startsWith('x-kubernetes-') || word === 'default') && base[word] === undefined) {
        made[word] = cloneJson(schema[word]) as Json;
      }
    }
    return made;
  }

  private element(schema: JsonSchema): JsonObject {
    const made = this.use(schema);
    const zero = zeroOf(schema);
    return zero === undefined || made.default !== undefined ? unframed(made) : { ...made, default: zero };
  }

  private body(schema: JsonSchema, isCustom = false): JsonObject {
    const made: JsonObject = {};
    for (const word of Object.keys(schema)) {
      if (word === '$id') continue;
      const value = schema[word];
      if (word === 'properties' && isRecord(value)) {
        const properties: JsonObject = {};
        for (const name of Object.keys(value)) {
          const property = value[name] as JsonSchema;
          put(properties, name, isCustom ? (cloneJson(property) as Json) : this.use(property));
        }
        made[word] = properties;
      } else if (!isCustom && (word === 'items' || word === 'additionalProperties') && isRecord(value)) {
        made[word] = this.element(value as JsonSchema);
      } else if (value !== undefined) {
        made[word] = cloneJson(value) as Json;
      }
    }
    if (made['x-kubernetes-int-or-string'] === true && !isCustom) {
      made.oneOf = [{ type: 'integer' }, { type: 'string' }];
      delete made['x-kubernetes-int-or-string'];
    }
    return made;
  }

  private customSchema(kind: KindDefinition): JsonObject {
    const isV2 = this.dialect === V2;
    const resourceFields = (texts: Readonly<Record<string, string>>): JsonObject => ({
      apiVersion: { description: texts.apiVersion ?? '', type: 'string' },
      kind: { description: texts.kind ?? '', type: 'string' },
      metadata: { description: FIELD_TEXTS.metadata ?? '', ...this.reference(META) },
    });
    const given = kind.schema === undefined ? { type: 'object' as Json } : this.body(kind.schema, true);
    // kubectl refuses a field that the properties of a schema do not contain, so an open object has no properties.
    if (isV2 && isOpen(given)) return { type: 'object' };
    this.need(META);
    const embedded = { isV2, resourceFields: resourceFields(EMBEDDED_TEXTS) };
    const made = publishedSchema(given, embedded) as JsonObject;
    made.properties = {
      ...(isRecord(made.properties) ? made.properties : {}),
      ...resourceFields(FIELD_TEXTS),
    };
    return isV2 ? (schemaInV2(made) as JsonObject) : made;
  }
}

function unframed(schema: JsonObject): JsonObject {
  const [first] = Array.isArray(schema.allOf) ? schema.allOf : [];
  return isRecord(first) && Object.keys(schema).length === 1 ? { ...(first as JsonObject) } : schema;
}

const CONVENTIONS = 'More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md';
const EMBEDDED_TEXTS = {
  apiVersion: `apiVersion defines the versioned schema of this representation of an object. ${CONVENTIONS}#resources`,
  kind: `kind is a string value representing the type of this object. In CamelCase. ${CONVENTIONS}#types-kinds`,
};

/** Adds the allowed values to the fields of a schema. */
function addEnums(properties: JsonObject, enums: ReturnType<typeof enumsOf>): void {
  for (const [name, values] of Object.entries(enums)) {
    const field = properties[name.replace('[]', '')];
    const holder = !name.endsWith('[]') || !isRecord(field) ? field : (field.items ?? field.additionalProperties);
    if (isRecord(holder)) holder.enum = [...values];
  }
}

function zeroOf(schema: JsonSchema): Json | undefined {
  if (schema.$id !== undefined && SCALARS.has(schema.$id)) return undefined;
  if (schema.$id !== undefined || schema.type === 'object')
    return schema.additionalProperties === undefined ? {} : undefined;
  switch (schema.type) {
    case 'string':
      return schema.format === 'byte' ? undefined : '';
    case 'integer':
    case 'number':
      return 0;
    case 'boolean':
      return false;
    default:
      return undefined;
  }
}
