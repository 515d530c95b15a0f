import type { Shape } from './shape.ts';

/** An owner reference as in `metadata.ownerReferences`. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** Metadata of an object from the API server, which always sets name, uid and resourceVersion. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  /** The creation time in RFC 3339, rounded to seconds. */
  creationTimestamp: string;
  /** The time of the delete request plus the grace period, in RFC 3339. */
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

/** Any object that the API server stores. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** An object before its creation, without the metadata that the API server adds. */
export type Draft<T extends KubeObject> = Omit<T, 'metadata' | 'apiVersion' | 'kind'> & {
  apiVersion?: string;
  kind?: string;
  metadata: Partial<ObjectMeta>;
};

/** Group, version and name of a kind; the field `_type` exists only for TypeScript. */
export interface ResourceDefinition<T extends KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shape?: Shape;
  readonly _type?: T;
}

/** The key of an object in caches and queues: `namespace/name`, or `name` for a cluster-scoped object. */
export type Key = string;

/** Returns the key of an object. */
export const keyOf = (object: { readonly metadata: { readonly name: string; readonly namespace?: string } }): Key =>
  object.metadata.namespace ? `${object.metadata.namespace}/${object.metadata.name}` : object.metadata.name;

/** Returns the key for a namespace and a name: `namespace/name`, or only `name` for a cluster-scoped object. */
export const makeKey = (namespace: string | undefined, name: string): Key =>
  namespace ? `${namespace}/${name}` : name;

/** Returns the namespace and the name of a key. */
export function splitKey(key: Key): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/');
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Returns an owner reference to an object, with `controller: true`. */
export const controllerOf = (object: { readonly metadata: { readonly ownerReferences?: OwnerReference[] } }) =>
  object.metadata.ownerReferences?.find((reference) => reference.controller === true);
