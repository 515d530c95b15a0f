import { invalidValue, requiredValue } from '../../apimachinery/errors/errors.ts';
import { pathSegmentProblems } from '../../apimachinery/errors/names.ts';
import { sortedJson } from '../../apimachinery/objects/json-value.ts';
import type { ObjectMeta } from '../../apimachinery/objects/object.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { metaCauses } from '../../resources/metadata.ts';
import { readMeta } from '../../resources/shape.ts';
import { labelProblems } from './words.ts';

type Resource = Readonly<Record<string, unknown>>;

const APPLIES_TO_ALL = { group: '', plural: '', custom: true, validateName: pathSegmentProblems } as const;

/** Returns the field path of a field of a resource. */
const at = (path: string, field: string): string => (path === '' ? field : `${path}.${field}`);

/** Returns the error for metadata that Go cannot decode. Go prints a map in the order of its keys. */
export const malformed = (path: string, metadata: unknown, { message }: RangeError): StatusCause =>
  invalidValue(at(path, 'metadata'), JSON.parse(sortedJson(metadata)), message);

function decodeMeta({ metadata }: Resource, path: string): { meta: ObjectMeta } | { error: StatusCause } {
  try {
    return { meta: readMeta(structuredClone(metadata)).meta as ObjectMeta };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { error: malformed(path, metadata, error) };
  }
}

function typeCauses(resource: Resource, path: string): StatusCause[] {
  const { apiVersion, kind } = resource;
  const causes: StatusCause[] = [];
  if (apiVersion === undefined) causes.push(requiredValue(at(path, 'apiVersion')));
  if (kind === undefined) causes.push(requiredValue(at(path, 'kind')));
  for (const [field, value] of Object.entries({ apiVersion, kind })) {
    if (value === undefined || typeof value === 'string') continue;
    causes.push(invalidValue(at(path, field), value, 'must be a string'));
  }
  if (apiVersion === '') causes.push(invalidValue(at(path, 'apiVersion'), apiVersion, 'must not be empty'));
  else if (typeof apiVersion === 'string' && apiVersion.split('/').length > 2) {
    const why = `unexpected GroupVersion string: ${apiVersion}`;
    causes.push(invalidValue(at(path, 'apiVersion'), apiVersion, why));
  }
  if (typeof kind !== 'string') return causes;
  const problems = labelProblems(kind.toLowerCase());
  if (kind === '') causes.push(invalidValue(at(path, 'kind'), kind, 'must not be empty'));
  else if (problems.length > 0) {
    const why = `may have mixed case, but should otherwise match: ${problems.join(',')}`;
    causes.push(invalidValue(at(path, 'kind'), kind, why));
  }
  return causes;
}

export function decodingCause(resource: Resource, path: string): StatusCause | undefined {
  for (const field of ['apiVersion', 'kind']) {
    const value = resource[field];
    if (value !== undefined && typeof value !== 'string')
      return invalidValue(at(path, field), value, 'must be a string');
  }
  if (resource.metadata === undefined) return undefined;
  const decoded = decodeMeta(resource, path);
  return 'error' in decoded ? decoded.error : undefined;
}

/**
 * Returns the errors in the type and the metadata of an embedded resource.
 * @see k8s.io/apiextensions-apiserver `validateEmbeddedResource`
 */
export function embeddedResourceCauses(resource: Resource, path: string): StatusCause[] {
  const causes = typeCauses(resource, path);
  if (resource.metadata === undefined) return causes;
  const decoded = decodeMeta(resource, path);
  if ('error' in decoded) return [...causes, decoded.error];
  const { meta } = decoded;
  const namespaced = (meta.namespace ?? '') !== '';
  const named = { ...meta, name: meta.name === undefined || meta.name === '' ? 'fakename' : meta.name };
  for (const cause of metaCauses({ ...APPLIES_TO_ALL, namespaced }, named)) {
    causes.push({ ...cause, field: at(path, cause.field ?? '') });
  }
  return causes;
}
