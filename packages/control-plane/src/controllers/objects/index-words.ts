import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { controllerOf, namespaceOf, nodeNameOf } from './fields.ts';

export const namespaceWords = (object: ApiObject): readonly string[] => [namespaceOf(object)];

export const nodeWords = (pod: ApiObject): readonly string[] => [nodeNameOf(pod)];

/** The word of an object with a controller is the UID of the controller. */
export const controllerWords = (object: ApiObject): readonly string[] => {
  const owner = controllerOf(object);
  return owner === undefined ? [] : [owner.uid];
};

/** The word of an object without a controller is the namespace of the object. */
export const orphanWords = (object: ApiObject): readonly string[] =>
  controllerOf(object) === undefined ? [namespaceOf(object)] : [];
