import { apiVersionOf, type KindDefinition } from '../../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { roundTrip } from '../../../resources/shape.ts';

/** Kinds whose Go types are not in `shape.ts`. */
const FURTHER: Readonly<Record<string, Record<string, unknown>>> = {
  'apiextensions.k8s.io/CustomResourceDefinition': {
    spec: { group: '', names: { plural: '', kind: '' }, scope: '', versions: null },
    status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: null },
  },
};

const skeletons = new WeakMap<KindDefinition, ApiObject>();

/**
 * The empty object that a new object is compared with. For a built-in kind it contains the structures (`spec: {}`) of Go's zero value,
 * so they have no manager. For a custom kind it has none.
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
