/** An owner reference as in `metadata.ownerReferences`. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** The server always sets name, uid and resourceVersion. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid: string;
  resourceVersion: string;
  /** The number of the last change of the spec, which increases with each change. */
  generation?: number;
  /** The time of the creation in RFC 3339, in whole seconds. */
  creationTimestamp: string;
  /** The RFC 3339 time that the server sets when a client requests the deletion of the object. */
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}
