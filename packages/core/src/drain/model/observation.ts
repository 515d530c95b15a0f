import type { DrainRule } from '../../settings/drain-rules.ts';
import type { UndrainablePolicy } from '../../settings/undrainable.ts';

/** A reference to a pod. The UID distinguishes the pod from a later pod with an equal name. */
export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface PodRule {
  readonly name: string;
  readonly behavior: DrainRule['behavior'];
  readonly order: number;
}

/** The fields of a pod that the plan of a drain needs. */
export interface DrainPod extends PodRef {
  readonly phase: string;
  readonly ready: boolean;
  /**
   * The time at which a terminating pod is expected to end. `metadata.deletionTimestamp` of a pod is the time of the
   * delete request plus the grace period.
   */
  readonly dueAt?: Date | undefined;
  readonly graceMs: number;
  readonly priority: number;
  readonly ownerKind?: string | undefined;
  readonly mirror: boolean;
  /** Whether the pod uses emptyDir volumes, whose data is deleted with the pod. */
  readonly localStorage: boolean;
  /** Whether the pod mounts PersistentVolumeClaims, including generic ephemeral volumes. */
  readonly hasClaims: boolean;
  /** The PersistentVolumes of the pod that no other pod on the node uses. */
  readonly volumes: readonly string[];
  readonly budgets: readonly DrainBudget[];
  /** The drain rule that applies to the pod. */
  readonly rule?: PodRule | undefined;
  /** Whether the pod waits for pods with a lower order in their drain rules. */
  readonly later?: true;
}

/** The fields of a PodDisruptionBudget that the plan of a drain needs. */
export interface DrainBudget {
  readonly key: string;
  readonly resourceVersion: string;
  readonly allowed: number;
  /** Whether the status of the budget is older than its spec. */
  readonly stale: boolean;
  /** `misconfigured` is true if the budget can never allow a disruption, see {@link isMisconfigured}. */
  readonly misconfigured: boolean;
  /** Whether the budget always allows the eviction of pods that are not ready. */
  readonly sparesUnready: boolean;
  /**
   * The value of `spec.minAvailable` or `spec.maxUnavailable` and its effect, such as `maxUnavailable: 0, 3 of 3 pods
   * needed`.
   */
  readonly rule?: string | undefined;
  /** Whether the budget requires healthy pods, but no pod is healthy. */
  readonly nothingHealthy?: boolean | undefined;
}

/** The result of the last request that evicted or deleted a pod. */
export interface Attempt {
  readonly at: Date;
  /**
   * The response to the request:
   * - `asked`: the API server accepted the request, so the pod will end.
   * - `blocked`: a budget refused the eviction (429).
   * - `namespaceEnds`: the API server refused the eviction (403), because the namespace of the pod is being deleted.
   * - `failed`: the request failed for any other reason.
   */
  readonly result: 'asked' | 'blocked' | 'namespaceEnds' | 'failed';
  readonly message: string;
  /** The number of consecutive attempts with an equal result. */
  readonly count: number;
  /**
   * The resource versions of the pod's budgets at the time of the attempt. When a budget changes, mcm immediately
   * retries the eviction.
   */
  readonly budgets: string;
  readonly retryAfterMs?: number | undefined;
  /** Whether mcm created an EvictionRequest instead of evicting the pod. */
  readonly requested?: true;
}

export interface Responder {
  /**
   * The active responder of an EvictionRequest, such as `imperative-eviction.k8s.io/evictor`, or undefined without an
   * active responder.
   */
  readonly name?: string | undefined;
  readonly message?: string | undefined;
  readonly failed: boolean;
}

/** An evicted pod and its volumes, until the volumes are attached to another node. */
export interface VolumeMove {
  readonly pod: PodRef;
  readonly volumes: readonly string[];
  /** Whether the owner of the pod will start a new pod on another node. The new pod needs the volumes. */
  readonly returns: boolean;
  /** The time at which a reconcile first noticed that the pod is gone. */
  readonly goneAt?: Date;
  /** The time at which a reconcile first noticed that the volumes are detached. */
  readonly detachedAt?: Date;
}

/**
 * The progress of a drain, which is stored only in the memory of the process. After a restart, the drain continues
 * correctly without the progress, but waits longer.
 */
export interface DrainMemory {
  readonly attempts: ReadonlyMap<string, Attempt>;
  readonly moves: ReadonlyMap<string, VolumeMove>;
  /** The time since which the node has no pods that must be evicted. */
  readonly emptySince?: Date | undefined;
  readonly detachRequested?: ReadonlySet<string>;
  readonly reportedAt?: Date;
  readonly reported?: ReadonlySet<string>;
  readonly responders?: ReadonlyMap<string, Responder>;
  readonly respondersAt?: Date;
  /** Whether mcm failed to cordon the node. A forced drain continues without the cordon. */
  readonly cordonFailed?: boolean;
}

/** The progress of a drain before its first step. */
export const NO_DRAIN_MEMORY: DrainMemory = { attempts: new Map(), moves: new Map() };

/** A volume that is attached to a node. */
export interface Attachment {
  /** The name of the VolumeAttachment, or undefined if only the status of the Node shows the volume. */
  readonly name?: string;
  readonly uid?: string;
  readonly volume: string;
  readonly deleting: boolean;
  /** Whether only `status.volumesInUse` of the Node shows the volume. */
  readonly inUse?: true;
}

/** The limit of moving volumes for one CSI driver. All drains of the process share the limit. */
export interface SharedLimit {
  readonly limit: number;
  /** Number of volumes that the other drains are moving. */
  readonly others: number;
}

export interface AttachRoom {
  /** The shared limits by CSI driver. Without `--drain-volume-limit`, `shared` is absent. */
  readonly shared?: ReadonlyMap<string, SharedLimit> | undefined;
  /**
   * The number of volumes that can still be attached to other nodes, by CSI driver. A CSI driver without an entry has
   * no limit.
   */
  readonly room: ReadonlyMap<string, number>;
  /** The CSI driver of each volume that must still move to another node. */
  readonly driverOf: ReadonlyMap<string, string>;
}

/** The reasons why a drain cannot read objects. Each reason is a part of a sentence. */
export interface UnseenByDrain {
  /** The reason why mcm cannot read pods. Without this permission, the pods on the node are unknown. */
  readonly pods?: string | undefined;
  /**
   * The reason why mcm cannot read claims, volumes or attachments. Set only if the node or its pods may have volumes.
   */
  readonly volumes?: string | undefined;
}

/** The observed state of a node, from which a drain is planned. */
export interface DrainObservation {
  readonly nodeName: string;
  readonly pods: readonly DrainPod[];
  /** The volumes that are attached to this node. */
  readonly attachments: readonly Attachment[];
  /** The volumes of moving pods that are now attached to another node. */
  readonly attachedElsewhere: ReadonlySet<string>;
  /** Whether the cloud will end the VM at a known time. The drain is forced before that time. */
  readonly interrupted?: true | undefined;
  /** Whether the VM ends soon. The drain then evicts all pods at the same time, sorted by priority. */
  readonly urgent?: true | undefined;
  /** The number of volumes that can still be attached to other nodes, or undefined if the attach limits are unknown. */
  readonly attach?: AttachRoom | undefined;
  /**
   * Whether the API server serves EvictionRequests. The value is `unknown` until mcm has read the discovery API. The
   * value is undefined if mcm evicts the pods itself.
   */
  readonly requests?: 'served' | 'unknown' | undefined;
  readonly tracksVolumes: boolean;
  /** The read permissions that the drain lacks. */
  readonly unseen?: UnseenByDrain;
  /** Whether the watch of pods was interrupted. After an interruption, pods may be missing in the cache. */
  readonly podsUnproven?: true | undefined;
  readonly memory: DrainMemory;
  /** The time until which the drain evicts the pods. After `evictUntil`, the drain deletes the pods. */
  readonly evictUntil: Date;
  /** The time from which the drain is forced. */
  readonly forceAt: Date;
  /**
   * Whether `forceAt` is early because the node does not respond. For other nodes, `forceAt` is the end of the drain
   * timeout.
   */
  readonly unresponsive?: true | undefined;
  readonly forced: boolean;
  /** The label that forces the drain, as `key=value` (default: `force-deletion=true`). */
  readonly forcedBy?: string;
  /** The policy for pods that remain at the time `forceAt` (default: `Force`). */
  readonly policy?: UndrainablePolicy | undefined;
  /** The error in the annotation that selects the policy for undrainable machines. */
  readonly policyProblem?: string | undefined;
  readonly detachTimeoutMs: number;
  readonly reattachTimeoutMs: number;
  /** The maximum number of pods with volumes that may move at the same time, see `windowSize`. */
  readonly volumeWindow: number;
}
