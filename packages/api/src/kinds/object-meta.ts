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
  /** Number of the last change of the spec; each change increases the number. */
  generation?: number;
  /** RFC 3339, to the second. */
  creationTimestamp: string;
  /** RFC 3339. The server sets this time when a deletion is requested. */
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}
