import { pathSegmentProblems } from '../../apimachinery/errors/names.ts';
import type { ApiObject, ObjectMeta } from '../../apimachinery/objects/object.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { embeddedTypeCauses } from '../../crd/schema/embedded-type.ts';
import { readMeta } from '../../resources/shape.ts';
import type { SchemaNode } from '../../schema/model/node.ts';
import { malformed, walk } from '../bodies/embedded.ts';
import { metaCauses } from './metadata.ts';

const APPLIES_TO_ALL = { group: '', plural: '', custom: true, validateName: pathSegmentProblems } as const;

export function embeddedCauses(object: ApiObject, node: SchemaNode): StatusCause[] {
  const causes: StatusCause[] = [];
  walk(object, node, '', (resource, path) => {
    causes.push(...embeddedTypeCauses(resource, path));
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
    // The name of an embedded resource may be missing.
    const named = { ...meta, name: meta.name === undefined || meta.name === '' ? 'fakename' : meta.name };
    for (const cause of metaCauses({ ...APPLIES_TO_ALL, namespaced }, named)) {
      causes.push({ ...cause, field: `${path}.${cause.field}` });
    }
  });
  return causes;
}
