import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { controllerOf, namespaceOf, nodeNameOf } from './fields.ts';

export const namespaceWords = (object: ApiObject): readonly string[] => [namespaceOf(object)];

export const nodeWords = (pod: ApiObject): readonly string[] => [nodeNameOf(pod)];

/** Returns the UID of the object's controller as its index word. */
export const controllerWords = (object: ApiObject): readonly string[] => {
  const owner = controllerOf(object);
  return owner === undefined ? [] : [owner.uid];
};

/** If an object has no controller, returns the namespace of the object as its index word. */
export const orphanWords = (object: ApiObject): readonly string[] =>
  controllerOf(object) === undefined ? [namespaceOf(object)] : [];
