import { apiVersionOf, type KindDefinition } from '../../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { roundTrip } from '../../../resources/shape.ts';

const skeletons = new WeakMap<KindDefinition, ApiObject>();

/**
 * Returns an empty object, with which the server compares a new object. For a built-in kind, the object contains the
 * zero structures of Go (`spec: {}`), so these structures get no manager.
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
