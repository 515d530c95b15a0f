import type { ApiObject } from '../../apimachinery/objects/object.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { embeddedResourceCauses } from '../../crd/schema/embedded-resource.ts';
import type { SchemaNode } from '../../schema/model/node.ts';
import { walk } from '../bodies/embedded.ts';

export function embeddedCauses(object: ApiObject, node: SchemaNode): StatusCause[] {
  const causes: StatusCause[] = [];
  walk(object, node, '', (resource, path) => {
    causes.push(...embeddedResourceCauses(resource, path));
  });
  return causes;
}
