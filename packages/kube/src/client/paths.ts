import { KubeError } from '../contract/errors.ts';
import type { KubeObject, ResourceDefinition } from '../contract/objects.ts';

const refuse = (message: string): never => {
  throw new KubeError(message, { code: 400, reason: 'BadRequest' });
};

/** Returns true if the value can be a segment of a path. */
export const isPathSegment = (value: string): boolean =>
  value !== '' && value !== '.' && value !== '..' && !value.includes('/');

function segment(definition: ResourceDefinition<KubeObject>, field: string, value: string): string {
  if (value === '') refuse(`${definition.plural}: ${field} must not be empty`);
  if (!isPathSegment(value)) {
    refuse(`${definition.plural}: ${field} ${JSON.stringify(value)} must not be ".", ".." or contain "/"`);
  }
  return encodeURIComponent(value);
}

const root = (definition: ResourceDefinition<KubeObject>): string =>
  definition.group === '' ? `/api/${definition.version}` : `/apis/${definition.group}/${definition.version}`;

export const apiVersionOf = (definition: ResourceDefinition<KubeObject>): string =>
  definition.group === '' ? definition.version : `${definition.group}/${definition.version}`;

/** Returns the path of a collection. */
export const collectionPath = (definition: ResourceDefinition<KubeObject>, namespace: string | undefined): string =>
  definition.namespaced && namespace !== undefined
    ? `${root(definition)}/namespaces/${segment(definition, 'namespace', namespace)}/${definition.plural}`
    : `${root(definition)}/${definition.plural}`;

export function objectPath(
  definition: ResourceDefinition<KubeObject>,
  namespace: string | undefined,
  name: string,
  subresource?: string,
): string {
  if (definition.namespaced && namespace === undefined) {
    refuse(`${definition.plural} "${name}": set the namespace, because the kind is namespaced`);
  }
  const path = `${collectionPath(definition, namespace)}/${segment(definition, 'name', name)}`;
  return subresource === undefined ? path : `${path}/${segment(definition, 'subresource', subresource)}`;
}

export function query(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  let text = '';
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || value === '' || value === false) continue;
    text += `${text === '' ? '?' : '&'}${name}=${encodeURIComponent(String(value))}`;
  }
  return text;
}

const REVIEWS = /\/(tokenreviews|subjectaccessreviews|selfsubjectaccessreviews)$/;

/** Returns true if the path is a review, such as a SubjectAccessReview. */
export const isReview = (path: string): boolean => REVIEWS.test(path);

/** Returns true if a path with its query is a watch. */
export const isWatch = (path: string): boolean => /[?&]watch=(true|1)(&|$)/.test(path);
