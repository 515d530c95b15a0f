/**
 * The state of a cluster in a fleet:
 * - `elsewhere`: the cluster is assigned to another replica.
 * - `starting`: the process connects to the cluster, or checks its identity.
 * - `waiting`: another process holds the Lease of the cluster.
 * - `serving`: this process holds the Lease, and its controllers run.
 * - `stopping`: the controllers end, and the process releases the Lease.
 * - `failed`: an error stopped the controllers, and a retry follows.
 * - `refused`: the cluster has no usable kubeconfig.
 * - `hibernated`: the cluster has no machines and no work, so no process holds the Lease.
 * - `handed-over`: the cluster has its own process, and no replica of the fleet serves the cluster.
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
  readonly since: string;
  readonly assigned: string;
  readonly holder: string;
  readonly error: string;
}

export interface Progress {
  state(state: 'starting' | 'waiting' | 'serving' | 'stopping', holder?: string): void;
  /** Records whether the API server of the cluster has not responded for a long time. */
  silent(silent: boolean): void;
}

export type FailureReason = 'kubeconfig' | 'other-cluster' | 'unreachable' | 'lease-lost' | 'lease-deleted' | 'other';
