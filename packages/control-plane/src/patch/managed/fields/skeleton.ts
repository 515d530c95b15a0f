import { apiVersionOf, type KindDefinition } from '../../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { roundTrip } from '../../../resources/shape.ts';

/** Kinds whose Go types are not among those that `shape.ts` knows. */
const FURTHER: Readonly<Record<string, Record<string, unknown>>> = {
  'apiextensions.k8s.io/CustomResourceDefinition': {
    spec: { group: '', names: { plural: '', kind: '' }, scope: '', versions: null },
    status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: null },
  },
};

const skeletons = new WeakMap<KindDefinition, ApiObject>();

/**
 * What a new object is compared with: an empty one. A built-in kind's empty object already has its structures (`spec: {}`), as Go's zero
 * value has, so they belong to nobody; a custom kind's has none.
 */
export function emptyObject(kind: KindDefinition): ApiObject {
  let object = skeletons.get(kind);
  if (object === undefined) {
    object = {
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata: {},
      ...FURTHER[`${kind.group}/${kind.kind}`],
    };
    if (kind.model !== undefined) roundTrip(object, kind.model);
    skeletons.set(kind, object);
  }
  return object;
}
