import { equalJson, isRecord, own } from '../apimachinery/objects/json-value.ts';
import {
  apiVersionOf,
  type JsonSchema,
  type KindDefinition,
  type PrinterColumn,
} from '../apimachinery/objects/kind.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { defined } from '../apimachinery/objects/plain.ts';
import { compileJsonPath } from '../table/jsonPath.ts';
import { type Fields, record, records, text, texts } from './schema/fields.ts';
import { isTerminating } from './status.ts';

function columnsOf(version: Fields): PrinterColumn[] {
  return records(own(version, 'additionalPrinterColumns')).map(({ format, description, priority, ...column }) =>
    defined({
      name: text(column.name),
      type: text(column.type) as PrinterColumn['type'],
      jsonPath: text(column.jsonPath),
      format: typeof format === 'string' ? format : undefined,
      description: typeof description === 'string' ? description : undefined,
      priority: typeof priority === 'number' ? priority : undefined,
    }),
  );
}

function selectableFields(version: Fields): Record<string, (object: ApiObject) => string> {
  const fields: Record<string, (object: ApiObject) => string> = {};
  for (const field of records(own(version, 'selectableFields'))) {
    const jsonPath = text(field.jsonPath);
    const path = compileJsonPath(jsonPath);
    fields[jsonPath.replace(/^\./, '')] = (object) => {
      const value = path(object)[0];
      return value === undefined || value === null ? '' : String(value);
    };
  }
  return fields;
}

function subresourcesOf(version: Fields): KindDefinition['subresources'] {
  const subresources = record(version.subresources);
  const scale = own(subresources, 'scale');
  return defined({
    status: isRecord(own(subresources, 'status')) ? true : undefined,
    scale: isRecord(scale)
      ? defined({
          specReplicasPath: text(scale.specReplicasPath),
          statusReplicasPath: text(scale.statusReplicasPath),
          labelSelectorPath: text(scale.labelSelectorPath) || undefined,
        })
      : undefined,
  });
}

/** The definition of a custom kind, which has more properties than a built-in kind. */
export interface CustomKindDefinition extends KindDefinition {
  readonly deprecationWarning?: string;
  readonly storage: boolean;
}

/** Sorts versions: stable versions first, then beta, then alpha, then other names. */
function compareVersions(a: string, b: string): number {
  const rank = (name: string): readonly number[] => {
    const parts = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(name);
    if (parts === null) return [0, 0, 0];
    return [parts[2] === undefined ? 3 : parts[2] === 'beta' ? 2 : 1, Number(parts[1]), Number(parts[3] ?? 0)];
  };
  const [x, y] = [rank(a), rank(b)];
  for (let at = 0; at < 3; at++) {
    const difference = (x[at] ?? 0) - (y[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return a < b ? 1 : a > b ? -1 : 0;
}

function deprecation(spec: Fields, version: Fields, names: Fields): string | undefined {
  if (version.deprecated !== true) return undefined;
  const given = text(version.deprecationWarning);
  if (given !== '') return given;
  const name = text(version.name);
  const full = (other: string): string => `${text(spec.group)}/${other} ${text(names.kind)}`;
  const [best] = records(spec.versions)
    .filter((other) => other.served === true && other.deprecated !== true)
    .map((other) => text(other.name))
    .filter((other) => compareVersions(other, name) > 0)
    .sort((x, y) => compareVersions(y, x));
  return best === undefined ? `${full(name)} is deprecated` : `${full(name)} is deprecated; use ${full(best)}`;
}

/** Returns the names of a custom kind. */
function namesOf(crd: ApiObject): Fields {
  const accepted = record(record(crd.status).acceptedNames);
  return text(accepted.plural) === '' || text(accepted.kind) === '' ? record(record(crd.spec).names) : accepted;
}

function kindOfVersion(crd: ApiObject, version: Fields): CustomKindDefinition {
  const spec = record(crd.spec);
  const names = namesOf(crd);
  const kind = text(names.kind);
  const shortNames = texts(names.shortNames);
  const categories = texts(names.categories);
  const schema = record(version.schema).openAPIV3Schema;
  const subresources = subresourcesOf(version);
  const deprecationWarning = deprecation(spec, version, names);
  return defined({
    group: text(spec.group),
    version: text(version.name),
    versions: records(spec.versions).map(({ name }) => text(name)),
    kind,
    listKind: text(names.listKind) || `${kind}List`,
    plural: text(names.plural),
    singular: text(names.singular) || kind.toLowerCase(),
    shortNames: shortNames.length > 0 ? shortNames : undefined,
    categories: categories.length > 0 ? categories : undefined,
    namespaced: spec.scope === 'Namespaced',
    schema: isRecord(schema) ? (schema as JsonSchema) : undefined,
    custom: true,
    terminating: isTerminating(crd) ? true : undefined,
    hasGeneration: true,
    subresources,
    columns: columnsOf(version),
    selectableFields: selectableFields(version),
    requiresResourceVersion: true,
    storage: version.storage === true,
    deprecationWarning,
  });
}

export function kindsOfCrd(crd: ApiObject): CustomKindDefinition[] {
  const versions = records(record(crd.spec).versions);
  const kinds = versions.map((version) => kindOfVersion(crd, version));
  const byVersion = new Map(kinds.map((kind) => [apiVersionOf(kind), kind]));
  const stored = kinds.find(({ storage }) => storage);
  const related = (kind: CustomKindDefinition): CustomKindDefinition =>
    defined({
      ...kind,
      inVersion: (apiVersion: string) => byVersion.get(apiVersion),
      stored: equalJson(stored?.schema, kind.schema) ? undefined : stored,
    });
  const served = kinds.filter((_kind, at) => versions[at]?.served === true);
  return kinds.length === 1 ? served : served.map(related);
}

/** Returns the kind of the storage version. */
export function storedKindOfCrd(crd: ApiObject): CustomKindDefinition | undefined {
  const version = records(record(crd.spec).versions).find(({ storage }) => storage === true);
  return version === undefined ? undefined : kindOfVersion(crd, version);
}
