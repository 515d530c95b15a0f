import { invalidValue, requiredValue } from '../../apimachinery/errors/errors.ts';
import { pathSegmentProblems } from '../../apimachinery/errors/names.ts';
import { isRecord, sortedJson } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject, ObjectMeta } from '../../apimachinery/objects/object.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { labelProblems } from '../../crd/words.ts';
import { DecodeError, readMeta } from '../../resources/shape.ts';
import type { SchemaNode } from '../../schema/model/node.ts';
import { metaCauses } from '../writes/metadata.ts';

/** Calls `visit` for every embedded resource in a value, with its path. */
function walk(
  value: unknown,
  node: SchemaNode,
  path: string,
  visit: (resource: Record<string, unknown>, path: string) => void,
): void {
  if (!node.embeddedBelow) return;
  if (Array.isArray(value)) {
    const { items } = node;
    if (items !== undefined) for (const [at, item] of value.entries()) walk(item, items, `${path}[${at}]`, visit);
    return;
  }
  if (!isRecord(value)) return;
  if (node.embedded && path !== '') visit(value, path);
  for (const [key, below] of Object.entries(value)) {
    const property = node.properties.get(key);
    if (property !== undefined) walk(below, property, path === '' ? key : `${path}.${key}`, visit);
    else if (node.additional !== undefined) walk(below, node.additional, `${path}[${key}]`, visit);
  }
}

/** Go prints a map in the order of its keys. */
const malformed = (path: string, metadata: unknown, { message }: RangeError): StatusCause =>
  invalidValue(`${path}.metadata`, JSON.parse(sortedJson(metadata)), message);

/**
 * Converts the metadata of embedded resources to the form of the type of the real server, like pruning. Mutates.
 *
 * @param isApplied invalid metadata remains, and `embeddedCauses` refuses it
 * @returns the paths of unknown fields, sorted
 * @throws DecodeError when a field has the wrong type
 */
export function coerceEmbedded(object: ApiObject, node: SchemaNode, isApplied: boolean): string[] {
  const unknown: string[] = [];
  const fail = ({ field = '', message = '' }: StatusCause): DecodeError =>
    new DecodeError(`${field}: ${message}`, object);
  walk(object, node, '', (resource, path) => {
    for (const field of ['apiVersion', 'kind']) {
      const value = resource[field];
      if (value === undefined || typeof value === 'string' || isApplied) continue;
      throw fail(invalidValue(`${path}.${field}`, value, 'must be a string'));
    }
    if (resource.metadata === undefined) return;
    const given = structuredClone(resource.metadata);
    try {
      const { meta, unknown: found } = readMeta(resource.metadata);
      unknown.push(...found.map((field) => `${path}.metadata.${field}`));
      resource.metadata = meta;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      if (!isApplied) throw fail(malformed(path, given, error));
      resource.metadata = given;
    }
  });
  return unknown.sort();
}

const APPLIES_TO_ALL = { group: '', plural: '', custom: true, validateName: pathSegmentProblems } as const;

function typeCauses(resource: Record<string, unknown>, path: string): StatusCause[] {
  const { apiVersion, kind } = resource;
  const causes: StatusCause[] = [];
  if (apiVersion === undefined) causes.push(requiredValue(`${path}.apiVersion`));
  if (kind === undefined) causes.push(requiredValue(`${path}.kind`));
  for (const [field, value] of Object.entries({ apiVersion, kind })) {
    if (value === undefined || typeof value === 'string') continue;
    causes.push(invalidValue(`${path}.${field}`, value, 'must be a string'));
  }
  if (apiVersion === '') causes.push(invalidValue(`${path}.apiVersion`, apiVersion, 'must not be empty'));
  else if (typeof apiVersion === 'string' && apiVersion.split('/').length > 2) {
    const why = `unexpected GroupVersion string: ${apiVersion}`;
    causes.push(invalidValue(`${path}.apiVersion`, apiVersion, why));
  }
  if (typeof kind !== 'string') return causes;
  const problems = labelProblems(kind.toLowerCase());
  if (kind === '') causes.push(invalidValue(`${path}.kind`, kind, 'must not be empty'));
  else if (problems.length > 0) {
    const why = `may have mixed case, but should otherwise match: ${problems.join(',')}`;
    causes.push(invalidValue(`${path}.kind`, kind, why));
  }
  return causes;
}

/** Errors of embedded resources: in their type, and in their metadata as for any object. */
export function embeddedCauses(object: ApiObject, node: SchemaNode): StatusCause[] {
  const causes: StatusCause[] = [];
  walk(object, node, '', (resource, path) => {
    causes.push(...typeCauses(resource, path));
    if (resource.metadata === undefined) return;
    let meta: ObjectMeta;
    try {
      meta = readMeta(structuredClone(resource.metadata)).meta as ObjectMeta;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      causes.push(malformed(path, resource.metadata, error));
      return;
    }
    const namespaced = (meta.namespace ?? '') !== '';
    // An embedded resource needs no name.
    const named = { ...meta, name: meta.name === undefined || meta.name === '' ? 'fakename' : meta.name };
    for (const cause of metaCauses({ ...APPLIES_TO_ALL, namespaced }, named)) {
      causes.push({ ...cause, field: `${path}.${cause.field}` });
    }
  });
  return causes;
}
