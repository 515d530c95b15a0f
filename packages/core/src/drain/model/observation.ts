import type { DrainRule } from '../../settings/drain-rules.ts';
import type { UndrainablePolicy } from '../../settings/undrainable.ts';

/** A reference to a pod. The UID distinguishes the pod from a later pod with the same name. */
export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The part of a rule that the plan of a drain needs. */
export interface PodRule {
  readonly name: string;
  readonly behavior: DrainRule['behavior'];
  readonly order: number;
}

/** The fields of a pod that a drain reads. */
export interface DrainPod extends PodRef {
  /** `status.phase`. */
  readonly phase: string;
  readonly ready: boolean;
  /**
   * Expected end of a pod that is being deleted. `metadata.deletionTimestamp` of a pod is the time of the delete
   * request plus the grace period.
   */
  readonly dueAt?: Date | undefined;
  readonly graceMs: number;
  readonly priority: number;
  readonly ownerKind?: string | undefined;
  /** `mirror` is true for the mirror pod of a static pod. */
  readonly mirror: boolean;
  /** `localStorage` is true if the pod uses emptyDir volumes. The data of emptyDir volumes is deleted with the pod. */
  readonly localStorage: boolean;
  /** `hasClaims` is true if the pod mounts PersistentVolumeClaims, including generic ephemeral volumes. */
  readonly hasClaims: boolean;
  /** PersistentVolumes of the pod that no other pod on the node uses. */
  readonly volumes: readonly string[];
  readonly budgets: readonly DrainBudget[];
  /** The drain rule that applies to the pod. */
  readonly rule?: PodRule | undefined;
  /** Set if the pod waits for pods with a lower order. */
  readonly later?: true;
}

/** The fields of a PodDisruptionBudget that a drain reads. */
export interface DrainBudget {
  /** `namespace/name`. */
  readonly key: string;
  readonly resourceVersion: string;
  readonly allowed: number;
  /** `stale` is true if the disruption controller has not processed the newest spec yet. */
  readonly stale: boolean;
  /** `misconfigured` is true if the budget can never allow a disruption, see {@link isMisconfigured}. */
  readonly misconfigured: boolean;
  /** `sparesUnready` is true if the budget allows evicting pods that are not ready. */
  readonly sparesUnready: boolean;
  /**
   * `spec.minAvailable` or `spec.maxUnavailable` as written, with its effect: `maxUnavailable: 0, 3 of 3 pods needed`.
   */
  readonly rule?: string | undefined;
  /** `nothingHealthy` is true if the budget requires healthy pods, but no pod is healthy. */
  readonly nothingHealthy?: boolean | undefined;
}

/** The result of the last request to evict or delete a pod. */
export interface Attempt {
  readonly at: Date;
  /**
   * The result of the last attempt:
   * - `asked`: accepted; the pod will end.
   * - `blocked`: a budget refused the eviction (429).
   * - `namespaceEnds`: refused (403) because the pod's namespace is being deleted, which also deletes the pod.
   * - `failed`: refused for any other reason.
   */
  readonly result: 'asked' | 'blocked' | 'namespaceEnds' | 'failed';
  readonly message: string;
  /** Number of consecutive attempts with the same result. */
  readonly count: number;
  /**
   * Resource versions of the pod's budgets at the attempt. A change of a budget causes an immediate retry of the
   * eviction.
   */
  readonly budgets: string;
  readonly retryAfterMs?: number | undefined;
  /** `requested` is set if the pod was not evicted, but has an EvictionRequest. */
  readonly requested?: true;
}

export interface Responder {
  /**
   * The active responder of an EvictionRequest, such as `imperative-eviction.k8s.io/evictor`. `name` is absent if no
   * responder is active.
   */
  readonly name?: string | undefined;
  readonly message?: string | undefined;
  readonly failed: boolean;
}

/** An evicted pod whose volumes are not yet attached to another node. */
export interface VolumeMove {
  readonly pod: PodRef;
  readonly volumes: readonly string[];
  /** `returns` is true if the pod's owner will start a new pod on another node, which attaches the volumes again. */
  readonly returns: boolean;
  /** The time of the first reconcile that did not find the pod. */
  readonly goneAt?: Date;
  /** The time of the first reconcile that found the volumes detached. */
  readonly detachedAt?: Date;
}

/** State of a drain in the memory of this process. A new process without this memory waits longer, and does no harm. */
export interface DrainMemory {
  readonly attempts: ReadonlyMap<string, Attempt>;
  readonly moves: ReadonlyMap<string, VolumeMove>;
  /** The time since which the node has had no pod to evict. */
  readonly emptySince?: Date | undefined;
  readonly detachRequested?: ReadonlySet<string>;
  readonly reportedAt?: Date;
  readonly reported?: ReadonlySet<string>;
  readonly responders?: ReadonlyMap<string, Responder>;
  readonly respondersAt?: Date;
  /** `cordonFailed` is true if the cordon of the node failed. A forced drain continues without the cordon. */
  readonly cordonFailed?: boolean;
}

/** The memory of a drain before its first step. */
export const NO_DRAIN_MEMORY: DrainMemory = { attempts: new Map(), moves: new Map() };

/** A volume attached to a node. */
export interface Attachment {
  /** The name of the attachment. `name` is undefined if only the status of the node shows the volume. */
  readonly name?: string;
  readonly uid?: string;
  readonly volume: string;
  readonly deleting: boolean;
  /** `inUse` is set if only `status.volumesInUse` of the Node shows the volume. */
  readonly inUse?: true;
}

export interface AttachRoom {
  /**
   * Number of volumes that a CSI driver may still attach to other nodes. A CSI driver without an entry has no limit.
   */
  readonly room: ReadonlyMap<string, number>;
  /** The CSI driver of each volume of the pods, and of each moving volume that is not yet attached to another node. */
  readonly driverOf: ReadonlyMap<string, string>;
}

/** The kinds of objects that a drain cannot read, each with the reason. The reason is a part of a sentence. */
export interface UnseenByDrain {
  /** `pods` is set if pods cannot be read, so the pods on the node are unknown. */
  readonly pods?: string | undefined;
  /** `volumes` is set if claims, volumes or attachments cannot be read although the node or its pods have volumes. */
  readonly volumes?: string | undefined;
}

/** The observed state from which a drain is planned. */
export interface DrainObservation {
  readonly nodeName: string;
  readonly pods: readonly DrainPod[];
  /** Volumes attached to this node. */
  readonly attachments: readonly Attachment[];
  /** Volumes of moving pods that are now attached to another node. */
  readonly attachedElsewhere: ReadonlySet<string>;
  /** `interrupted` is set if the cloud will end the VM. An interrupted drain is forced before the end of the VM. */
  readonly interrupted?: true | undefined;
  /** `urgent` is set if the VM ends soon. An urgent drain evicts all pods at the same time, by priority. */
  readonly urgent?: true | undefined;
  /** `attach` is undefined if the number of volumes that other nodes can attach is unknown. */
  readonly attach?: AttachRoom | undefined;
  /**
   * `requests` states how pods get EvictionRequests. The value of `requests` is `unknown` until discovery was read.
   * `requests` is absent if the drain evicts the pods itself.
   */
  readonly requests?: 'served' | 'unknown' | undefined;
  readonly tracksVolumes: boolean;
  /** Missing read permissions of this process, as clauses of a sentence. */
  readonly unseen?: UnseenByDrain;
  /** `podsUnproven` is set if the watch of pods was interrupted, because the cache may then lack pods. */
  readonly podsUnproven?: true | undefined;
  readonly memory: DrainMemory;
  /** The drain evicts pods before the time `evictUntil`, and deletes pods after this time. */
  readonly evictUntil: Date;
  /** The drain is forced from the time `forceAt`. */
  readonly forceAt: Date;
  /**
   * `unresponsive` is set if `forceAt` is early because the node does not respond. For a responsive node, `forceAt` is
   * the end of the drain timeout.
   */
  readonly unresponsive?: true | undefined;
  readonly forced: boolean;
  /** The label that forces the drain, as `key=value`. By default, `forcedBy` is `force-deletion=true`. */
  readonly forcedBy?: string;
  /** The policy for pods that remain at `forceAt`. By default, `policy` is `Force`. */
  readonly policy?: UndrainablePolicy | undefined;
  /** The error in the annotation with the policy. */
  readonly policyProblem?: string | undefined;
  readonly detachTimeoutMs: number;
  readonly reattachTimeoutMs: number;
  /** The maximum number of pods with volumes that may move at the same time, see `windowSize`. */
  readonly volumeWindow: number;
}
