import { invalidValue, requiredValue } from '../../apimachinery/errors/errors.ts';
import { pathSegmentProblems } from '../../apimachinery/errors/names.ts';
import type { ApiObject, ObjectMeta } from '../../apimachinery/objects/object.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { labelProblems } from '../../crd/words.ts';
import { readMeta } from '../../resources/shape.ts';
import type { SchemaNode } from '../../schema/model/node.ts';
import { malformed, walk } from '../bodies/embedded.ts';
import { metaCauses } from './metadata.ts';

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

/** The errors of embedded resources: errors of their type, and errors of their metadata. */
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
