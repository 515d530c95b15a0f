import { apiVersionOf, type KindDefinition } from '../../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { roundTrip } from '../../../resources/shape.ts';

const skeletons = new WeakMap<KindDefinition, ApiObject>();

/**
 * A new object is compared with this empty object. For a built-in kind, the empty object contains the zero structures
 * of Go (`spec: {}`), so they get no manager. For a custom kind, the empty object has no fields.
 */
export function emptyObject(kind: KindDefinition): ApiObject {
  let object = skeletons.get(kind);
  if (object === undefined) {
    object = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: {} };
    if (kind.model !== undefined) roundTrip(object, kind.model);
    skeletons.set(kind, object);
  }
  return object;
}
