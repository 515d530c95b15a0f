/** An owner reference as in `metadata.ownerReferences`. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** Metadata of an object. The API server always sets name, uid and resourceVersion of an object. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid: string;
  resourceVersion: string;
  /** The generation of the object, which increases with each change of the spec. */
  generation?: number;
  /** The creation time in RFC 3339, rounded to seconds. */
  creationTimestamp: string;
  /** The RFC 3339 time that the API server sets when a client requests the deletion of the object. */
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}
