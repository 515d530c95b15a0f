import type { JsonSchema } from '../apimachinery/objects/kind.ts';
import definitionData from '../kinds/generated/definitions.json' with { type: 'json' };
import { fieldDoc, modelDoc } from './docs.ts';
import { listFacts, mapFacts, quantityFields, scalarDefaults, wholeFacts } from './facts.ts';

interface Definition {
  readonly id: string;
  readonly required?: readonly string[];
  readonly fields: Readonly<Record<string, string>>;
}

const definitions: Readonly<Record<string, Definition>> = definitionData;
const built = new Map<string, JsonSchema>();

export const SHARED_SCALARS = {
  time: 'io.k8s.apimachinery.pkg.apis.meta.v1.Time',
  microTime: 'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime',
  intOrString: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
  quantity: 'io.k8s.apimachinery.pkg.api.resource.Quantity',
  fields: 'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1',
  raw: 'io.k8s.apimachinery.pkg.runtime.RawExtension',
} as const;

const FREE_FIELDS: ReadonlyMap<string, string> = new Map([
  ['meta.v1.ManagedFieldsEntry.fieldsV1', 'fields'],
  ['apps.v1.ControllerRevision.data', 'raw'],
  ['resource.v1.AllocatedDeviceStatus.data', 'raw'],
  ['resource.v1.OpaqueDeviceConfiguration.parameters', 'raw'],
  ['apiextensions.v1.CustomResourceSubresources.status', 'empty'],
]);

const scalars: Readonly<Record<string, JsonSchema>> = {
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  number: { type: 'number' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  byte: { type: 'string', format: 'byte' },
  'date-time': { $id: SHARED_SCALARS.time, type: 'string', format: 'date-time' },
  'date-time-micro': { $id: SHARED_SCALARS.microTime, type: 'string', format: 'date-time' },
  'int-or-string': { $id: SHARED_SCALARS.intOrString, 'x-kubernetes-int-or-string': true, format: 'int-or-string' },
  quantity: { $id: SHARED_SCALARS.quantity, 'x-kubernetes-int-or-string': true },
  fields: { $id: SHARED_SCALARS.fields, 'x-kubernetes-preserve-unknown-fields': true },
  raw: { $id: SHARED_SCALARS.raw, 'x-kubernetes-preserve-unknown-fields': true },
  any: { 'x-kubernetes-preserve-unknown-fields': true },
  empty: { type: 'object', properties: {} },
  object: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
};

function schemaOfType(type: string): JsonSchema {
  if (type.startsWith('[]')) return { type: 'array', items: schemaOfType(type.slice(2)) };
  if (type.startsWith('{}')) return { type: 'object', additionalProperties: schemaOfType(type.slice(2)) };
  return scalars[type] ?? definitionSchema(type);
}

/** Returns the name of a definition in `facts.ts`: `core.v1.Container` for `io.k8s.api.core.v1.Container`. */
export const factName = (id: string): string => id.split('.').slice(-3).join('.');

function fieldSchema(model: string, owner: string, field: string, type: string): JsonSchema {
  const path = `${owner}.${field}`;
  const schema = schemaOfType(quantityFields.get(path) ?? FREE_FIELDS.get(path) ?? type);
  const facts: JsonSchema = {};
  const list = listFacts.get(path);
  if (list !== undefined) Object.assign(facts, list);
  else if (schema.type === 'array') facts['x-kubernetes-list-type'] = 'atomic';
  const map = mapFacts.get(path);
  if (map !== undefined) Object.assign(facts, map);
  const value = scalarDefaults.get(path);
  if (value !== undefined) facts.default = value;
  defineLazily(facts, 'description', () => fieldDoc(model, field));
  return Object.defineProperties({}, descriptorsOf(schema, facts));
}

function descriptorsOf(schema: JsonSchema, facts: JsonSchema): PropertyDescriptorMap {
  return { ...Object.getOwnPropertyDescriptors(schema), ...Object.getOwnPropertyDescriptors(facts) };
}

/** Defines a property whose value is computed when the property is first read. */
function defineLazily<T>(target: object, name: string, make: () => T): void {
  let value: T | undefined;
  Object.defineProperty(target, name, {
    configurable: true,
    enumerable: true,
    get: () => {
      value ??= make();
      return value;
    },
  });
}

function buildDefinition(model: string): JsonSchema {
  const definition = definitions[model];
  if (definition === undefined) throw new Error(`no definition of the model ${model}: run kinds/generate.ts again`);
  const { id, required, fields } = definition;
  const owner = factName(id);
  const whole = wholeFacts.get(owner);
  if (Object.keys(fields).length === 0 && whole === undefined) return { $id: id, ...scalars.object };
  const schema: JsonSchema = { $id: id, type: 'object', ...whole };
  if (required !== undefined) schema.required = [...required];
  defineLazily(schema, 'description', () => modelDoc(model));
  defineLazily(schema, 'properties', () => {
    const properties: Record<string, JsonSchema> = {};
    for (const [field, type] of Object.entries(fields)) properties[field] = fieldSchema(model, owner, field, type);
    return properties;
  });
  return schema;
}

export function definitionSchema(model: string): JsonSchema {
  const known = built.get(model);
  if (known !== undefined) return known;
  const schema = buildDefinition(model);
  built.set(model, schema);
  return schema;
}

/** Returns the types of the fields in the short form of `definitions.json`, and the name of the model in `facts.ts`. */
export function fieldsOfModel(model: string): { owner: string; fields: Readonly<Record<string, string>> } {
  const definition = definitions[model];
  if (definition === undefined) throw new Error(`no definition of the model ${model}: run kinds/generate.ts again`);
  return { owner: factName(definition.id), fields: definition.fields };
}
