import type { DrainRule } from '../../settings/drain-rules.ts';
import type { UndrainablePolicy } from '../../settings/undrainable.ts';

/** The UID distinguishes the pod from a later pod with an equal name. */
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
  /** The expected end of a terminating pod, from `metadata.deletionTimestamp`. */
  readonly dueAt?: Date | undefined;
  readonly graceMs: number;
  readonly priority: number;
  readonly ownerKind?: string | undefined;
  readonly mirror: boolean;
  readonly localStorage: boolean;
  readonly hasClaims: boolean;
  readonly volumes: readonly string[];
  readonly budgets: readonly DrainBudget[];
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
  readonly sparesUnready: boolean;
  /**
   * The value of `spec.minAvailable` or `spec.maxUnavailable` and its effect, such as `maxUnavailable: 0, 3 of 3 pods
   * needed`.
   */
  readonly rule?: string | undefined;
  readonly nothingHealthy?: boolean | undefined;
}

/** The result of the last request that evicted or deleted a pod. */
export interface Attempt {
  readonly at: Date;
  /**
   * The response of the API server to an eviction or deletion:
   * - `asked`: the API server accepted the request, so the pod will end.
   * - `blocked`: a budget refused the eviction (429).
   * - `namespaceEnds`: the API server refused the eviction (403), because the namespace of the pod is being deleted.
   * - `failed`: the request failed for any other reason.
   */
  readonly result: 'asked' | 'blocked' | 'namespaceEnds' | 'failed';
  readonly message: string;
  readonly count: number;
  /** When a budget changes, mcm immediately retries the eviction. */
  readonly budgets: string;
  readonly retryAfterMs?: number | undefined;
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
  readonly returns: boolean;
  readonly goneAt?: Date;
  readonly detachedAt?: Date;
}

/**
 * The progress of a drain, which is stored only in the memory of the process. A restart of the process loses the
 * progress, so the drain then waits longer.
 */
export interface DrainMemory {
  readonly attempts: ReadonlyMap<string, Attempt>;
  readonly moves: ReadonlyMap<string, VolumeMove>;
  readonly emptySince?: Date | undefined;
  /** The last requested deletion of a VolumeAttachment, by the name of the VolumeAttachment. */
  readonly detachRequested?: ReadonlyMap<string, { readonly uid: string; readonly at: Date }>;
  readonly reportedAt?: Date;
  readonly reported?: ReadonlySet<string>;
  readonly responders?: ReadonlyMap<string, Responder>;
  readonly respondersAt?: Date;
  /** Whether mcm failed to cordon the node; a forced drain continues without the cordon. */
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
  readonly inUse?: true;
}

export interface SharedLimit {
  readonly limit: number;
  readonly others: number;
}

export interface AttachRoom {
  readonly shared?: ReadonlyMap<string, SharedLimit> | undefined;
  /** The number of volumes that can still be attached to other nodes, by CSI driver. */
  readonly room: ReadonlyMap<string, number>;
  /** The CSI driver of each volume that must still move to another node. */
  readonly driverOf: ReadonlyMap<string, string>;
}

/** The reasons why a drain cannot read objects, each as a part of a sentence. */
export interface UnseenByDrain {
  readonly pods?: string | undefined;
  /**
   * The reason why mcm cannot read claims, volumes or attachments. Set only if the node or its pods may have volumes.
   */
  readonly volumes?: string | undefined;
  /** The reason why mcm cannot read the class of the machine, which may contain hooks and drain rules. */
  readonly rules?: string | undefined;
}

/** The observed state of a node, from which a drain is planned. */
export interface DrainObservation {
  readonly nodeName: string;
  readonly pods: readonly DrainPod[];
  readonly attachments: readonly Attachment[];
  readonly attachedElsewhere: ReadonlySet<string>;
  /** True if the drain is forced before the drain timeout, because the cloud ends the VM. */
  readonly interrupted?: true | undefined;
  /** Whether the VM ends soon, so that the drain evicts all pods at the same time, sorted by priority. */
  readonly urgent?: true | undefined;
  /** The number of volumes that can still be attached to other nodes, or undefined if the attach limits are unknown. */
  readonly attach?: AttachRoom | undefined;
  /** Whether the API server serves EvictionRequests, or `unknown` until mcm has read the discovery API. */
  readonly requests?: 'served' | 'unknown' | undefined;
  readonly tracksVolumes: boolean;
  readonly unseen?: UnseenByDrain;
  readonly podsUnproven?: true | undefined;
  readonly memory: DrainMemory;
  /** The time until which the drain evicts the pods. After this time, the drain deletes the pods. */
  readonly evictUntil: Date;
  readonly forceAt: Date;
  readonly unresponsive?: true | undefined;
  readonly forced: boolean;
  readonly forcedBy?: string;
  readonly policy?: UndrainablePolicy | undefined;
  readonly policyProblem?: string | undefined;
  readonly detachTimeoutMs: number;
  readonly reattachTimeoutMs: number;
  readonly volumeWindow: number;
}
