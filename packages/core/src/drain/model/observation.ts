import type { UndrainablePolicy } from '../../settings/undrainable.ts';

/** A pod by name and UID. A new pod of the same name is a different one. */
export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The fields of a pod that a drain reads. */
export interface DrainPod extends PodRef {
  /** `status.phase`. */
  readonly phase: string;
  readonly ready: boolean;
  /**
   * The expected end of a pod that is being deleted: `metadata.deletionTimestamp` is one grace period after the
   * request.
   */
  readonly dueAt?: Date | undefined;
  readonly graceMs: number;
  readonly priority: number;
  /** Kind of the controlling owner. */
  readonly ownerKind?: string | undefined;
  /** Mirror of a static pod. */
  readonly mirror: boolean;
  /** Uses emptyDir, whose data is deleted with the pod. */
  readonly localStorage: boolean;
  /** Mounts PersistentVolumeClaims, generic ephemeral volumes included. */
  readonly hasClaims: boolean;
  /** PersistentVolumes that no other pod of the node uses. */
  readonly volumes: readonly string[];
  readonly budgets: readonly DrainBudget[];
}

/** The fields of a PodDisruptionBudget that a drain reads. */
export interface DrainBudget {
  /** `namespace/name`. */
  readonly key: string;
  readonly resourceVersion: string;
  readonly allowed: number;
  /** The disruption controller has not evaluated the newest spec yet. */
  readonly stale: boolean;
  /** It can never allow a disruption, see {@link isMisconfigured}. */
  readonly misconfigured: boolean;
  /** It allows evicting pods that are not ready. */
  readonly sparesUnready: boolean;
  /**
   * `spec.minAvailable` or `spec.maxUnavailable` as written, with its effect: `maxUnavailable: 0, 3 of 3 pods needed`.
   */
  readonly rule?: string;
  /** It waits for unhealthy pods, and none is healthy. */
  readonly nothingHealthy?: boolean | undefined;
}

/** The result of the last request to evict or delete a pod. */
export interface Attempt {
  readonly at: Date;
  /**
   * `asked`: accepted, the pod will end; `blocked`: a budget refused (429); `namespaceEnds`: refused (403) because the
   * pod's namespace is being deleted, which ends the pod; `failed`: any other refusal.
   */
  readonly result: 'asked' | 'blocked' | 'namespaceEnds' | 'failed';
  readonly message: string;
  /** Number of attempts in a row with this result. */
  readonly count: number;
  /** The versions of the budgets. A change causes an immediate retry. */
  readonly budgets: string;
  readonly retryAfterMs?: number | undefined;
}

/** A pod with volumes that moves to another node. */
export interface VolumeMove {
  readonly pod: PodRef;
  readonly volumes: readonly string[];
  /** Its owner will start it elsewhere, so its volumes will be attached again. */
  readonly returns: boolean;
  /** When the pod was first seen as deleted. */
  readonly goneAt?: Date;
  /** When its volumes were first seen detached from the node. */
  readonly detachedAt?: Date;
}

/** The state of a drain in the memory of this process. A new process starts without it, which costs only waiting times. */
export interface DrainMemory {
  /** By pod uid. */
  readonly attempts: ReadonlyMap<string, Attempt>;
  /** By pod uid. */
  readonly moves: ReadonlyMap<string, VolumeMove>;
  /** When no pod was left to evict. */
  readonly emptySince?: Date | undefined;
  /** UIDs of the VolumeAttachments that were deleted after a forced drain. */
  readonly detachRequested?: ReadonlySet<string>;
  /** The last time at which this process wrote the blockers of the drain. */
  readonly reportedAt?: Date;
  /** Causes that an event has reported, see `Blocker`. */
  readonly reported?: ReadonlySet<string>;
  /** The cordon failed. A forced drain continues without it. */
  readonly cordonFailed?: boolean;
}

/** The memory of a drain before its first step. */
export const NO_DRAIN_MEMORY: DrainMemory = { attempts: new Map(), moves: new Map() };

/** A volume attached to a node. */
export interface Attachment {
  /** Name of the VolumeAttachment; absent if only the status of the node shows the volume. */
  readonly name?: string;
  /** UID of the VolumeAttachment, if there is one. */
  readonly uid?: string;
  readonly volume: string;
  readonly deleting: boolean;
  /** Only `status.volumesInUse` of the Node shows it. Its kubelet has it mounted, or is dead. */
  readonly inUse?: true;
}

/** Room for volumes on other nodes. */
export interface AttachRoom {
  /** Volumes that a CSI driver may still attach there. A driver without an entry has no limit. */
  readonly room: ReadonlyMap<string, number>;
  /** The CSI driver of each volume of the pods, and of each moving volume without a target node. */
  readonly driverOf: ReadonlyMap<string, string>;
}

/** The kinds that a drain cannot read, with the reason as a clause. */
export interface UnseenByDrain {
  /** Pods, so the pods on the node are unknown. */
  readonly pods?: string | undefined;
  /** Claims, volumes or attachments, if the node or its pods have any. */
  readonly volumes?: string | undefined;
}

/** The input of a drain decision. */
export interface DrainObservation {
  readonly nodeName: string;
  /** Pods bound to the node. */
  readonly pods: readonly DrainPod[];
  /** Volumes attached to this node. */
  readonly attachments: readonly Attachment[];
  /** Volumes of the moves that are attached to another node now. */
  readonly attachedElsewhere: ReadonlySet<string>;
  /** The cloud ends the VM, which sets the time at which the drain is forced. */
  readonly interrupted?: true | undefined;
  /** The VM ends soon: all pods are evicted at once, by priority. */
  readonly urgent?: true | undefined;
  /** Limits for attaching volumes elsewhere; absent: unknown. */
  readonly attach?: AttachRoom | undefined;
  /** Whether the cluster has VolumeAttachments. */
  readonly tracksVolumes: boolean;
  /** The missing read permissions of this process, as clauses; absent if it has all. */
  readonly unseen?: UnseenByDrain;
  /** The watch of pods was interrupted, so pods can exist that the cache does not have. */
  readonly podsUnproven?: true | undefined;
  readonly memory: DrainMemory;
  /** Until when pods are evicted. Afterwards they are deleted. */
  readonly evictUntil: Date;
  /** From when the drain is forced. */
  readonly forceAt: Date;
  /** `forceAt` is early because the node does not respond. Absent: it is the end of the drain timeout. */
  readonly unresponsive?: true | undefined;
  /** Forced at any time, by a label. */
  readonly forced: boolean;
  /** The label, as `key=value`; absent: `force-deletion=true`. */
  readonly forcedBy?: string;
  /** The policy for pods that are left at `forceAt`; absent: `Force`. */
  readonly policy?: UndrainablePolicy | undefined;
  /** The error in the annotation with the policy. */
  readonly policyProblem?: string | undefined;
  readonly detachTimeoutMs: number;
  readonly reattachTimeoutMs: number;
  /** The highest number of pods with volumes that may move at once, see `windowSize`. */
  readonly volumeWindow: number;
}
