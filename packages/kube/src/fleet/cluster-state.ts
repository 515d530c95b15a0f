/**
 * The state of a cluster in a fleet:
 * - `elsewhere`: assigned to another replica
 * - `starting`: connecting to the cluster, or checking its identity
 * - `waiting`: another process holds the Lease
 * - `serving`: this process holds the Lease, and its controllers run
 * - `stopping`: the controllers end, and the Lease is released
 * - `failed`: stopped by an error; a retry follows
 * - `refused`: the cluster has no usable kubeconfig
 * - `hibernated`: no machines and no work, so no process holds the Lease and no connection to the cluster is open
 * - `handed-over`: the cluster has its own process, and no replica of the fleet serves the cluster
 */
export type ClusterState =
  | 'elsewhere'
  | 'starting'
  | 'waiting'
  | 'serving'
  | 'stopping'
  | 'failed'
  | 'refused'
  | 'hibernated'
  | 'handed-over';

export const CLUSTER_STATES: readonly ClusterState[] = [
  'elsewhere',
  'starting',
  'waiting',
  'serving',
  'stopping',
  'failed',
  'refused',
  'hibernated',
  'handed-over',
];

export interface ClusterStatus {
  readonly cluster: string;
  readonly state: ClusterState;
  /** The RFC 3339 time of the last change of the state. */
  readonly since: string;
  /** The replica to which the cluster is assigned, or ''. */
  readonly assigned: string;
  /** The identity of the Lease holder, if known. */
  readonly holder: string;
  /**
   * The last error since the cluster was served. For the state `handed-over`, the text is the reason. Without an error
   * or a reason, the text is empty.
   */
  readonly error: string;
}

export interface Progress {
  state(state: 'starting' | 'waiting' | 'serving' | 'stopping', holder?: string): void;
  /** Whether the API server of the cluster has not responded for a long time. */
  silent(silent: boolean): void;
}

/** The reason of a failure, as a label value of a metric. */
export type FailureReason = 'kubeconfig' | 'other-cluster' | 'unreachable' | 'lease-lost' | 'lease-deleted' | 'other';
