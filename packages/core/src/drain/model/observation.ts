import type { UndrainablePolicy } from '../../settings/undrainable.ts';

/** A pod by name and uid: a new pod of the same name is another one. */
export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** What a drain looks at of a pod. */
export interface DrainPod extends PodRef {
  /** `status.phase`. */
  readonly phase: string;
  readonly ready: boolean;
  /** When the pod was to be gone, if it is being deleted: `metadata.deletionTimestamp` lies a grace period after the request. */
  readonly dueAt?: Date;
  readonly graceMs: number;
  readonly priority: number;
  /** Kind of the controlling owner. */
  readonly ownerKind?: string;
  /** Mirror of a static pod. */
  readonly mirror: boolean;
  /** Uses emptyDir: its data dies with the pod. */
  readonly localStorage: boolean;
  /** Mounts PersistentVolumeClaims, generic ephemeral volumes included. */
  readonly hasClaims: boolean;
  /** PersistentVolumes that no other pod of the node uses. */
  readonly volumes: readonly string[];
  readonly budgets: readonly DrainBudget[];
}

/** What a drain looks at of a PodDisruptionBudget that selects a pod. */
export interface DrainBudget {
  /** `namespace/name`. */
  readonly key: string;
  readonly resourceVersion: string;
  readonly allowed: number;
  /** The disruption controller has not yet judged the newest spec. */
  readonly stale: boolean;
  /** It can never allow a disruption, see {@link isMisconfigured}. */
  readonly misconfigured: boolean;
  /** Pods that are not ready may go regardless. */
  readonly sparesUnready: boolean;
  /** `spec.minAvailable` or `spec.maxUnavailable` as written, with what it comes to: `maxUnavailable: 0, 3 of 3 pods needed`. */
  readonly rule?: string;
  /** It waits for pods that are not healthy, and not one is. */
  readonly nothingHealthy?: boolean;
}

/** What became of the last request to evict or delete a pod. */
export interface Attempt {
  readonly at: Date;
  /**
   * `asked`: accepted, the pod will end; `blocked`: a budget refused (429); `namespaceEnds`: refused (403) because the
   * pod's namespace is being deleted, which ends the pod; `failed`: any other refusal.
   */
  readonly result: 'asked' | 'blocked' | 'namespaceEnds' | 'failed';
  readonly message: string;
  /** Tries in a row with this result. */
  readonly count: number;
  /** What the budgets were like, so that their change is a reason to try again at once. */
  readonly budgets: string;
  readonly retryAfterMs?: number;
}

/** A pod with volumes on its way to another node. */
export interface VolumeMove {
  readonly pod: PodRef;
  readonly volumes: readonly string[];
  /** Its owner will start it elsewhere, so its volumes will be attached again. */
  readonly returns: boolean;
  /** When the pod was first seen gone. */
  readonly goneAt?: Date;
  /** When its volumes were first seen detached from the node. */
  readonly detachedAt?: Date;
}

/** What this process remembers of a drain. A new process starts without: nothing is lost but waiting times. */
export interface DrainMemory {
  /** By pod uid. */
  readonly attempts: ReadonlyMap<string, Attempt>;
  /** By pod uid. */
  readonly moves: ReadonlyMap<string, VolumeMove>;
  /** When no pod was left that has to go. */
  readonly emptySince?: Date;
  /** UIDs of the VolumeAttachments that were deleted after a forced drain. */
  readonly detachRequested?: ReadonlySet<string>;
  /** When this process last wrote what the drain waits for. */
  readonly reportedAt?: Date;
  /** Causes of which people were told by an event, see `Blocker`. */
  readonly told?: ReadonlySet<string>;
  /** Cordoning failed; a forced drain does without. */
  readonly cordonFailed?: boolean;
}

/** What a drain remembers before its first step. */
export const NO_DRAIN_MEMORY: DrainMemory = { attempts: new Map(), moves: new Map() };

/** A volume attached to a node. */
export interface Attachment {
  /** Name of the VolumeAttachment; absent when only the node's status tells. */
  readonly name?: string;
  /** Its UID, where it has a name. */
  readonly uid?: string;
  readonly volume: string;
  readonly deleting: boolean;
  /** Only `status.volumesInUse` of the Node tells of it: its kubelet has it mounted, or is dead and says nothing. */
  readonly inUse?: true;
}

/** Room for volumes on the nodes that pods may come to. */
export interface AttachRoom {
  /** Volumes that a CSI driver may still attach there; a driver that is not in it has no limit. */
  readonly room: ReadonlyMap<string, number>;
  /** The CSI driver of each volume of the pods, and of each on its way that no node is to get yet. */
  readonly driverOf: ReadonlyMap<string, string>;
}

/** What a drain cannot see, and why, as a clause. */
export interface UnseenByDrain {
  /** Pods: nobody knows who is on the node. */
  readonly pods?: string;
  /** Claims, volumes or attachments, where the node or its pods have any. */
  readonly volumes?: string;
}

/** Everything a drain decision needs. */
export interface DrainObservation {
  readonly nodeName: string;
  /** Pods bound to the node. */
  readonly pods: readonly DrainPod[];
  /** Volumes attached to this node. */
  readonly attachments: readonly Attachment[];
  /** Volumes of the moves that are attached to another node by now. */
  readonly attachedElsewhere: ReadonlySet<string>;
  /** What limits how many volumes can be attached elsewhere; absent: nothing is known. */
  readonly attach?: AttachRoom;
  /** Whether the cluster has VolumeAttachments at all. */
  readonly tracksVolumes: boolean;
  /** What the API server does not let this process see, as clauses; absent: nothing. */
  readonly unseen?: UnseenByDrain;
  /** The watch of pods was interrupted, so pods can exist that the cache does not have. */
  readonly podsUnproven?: true;
  readonly memory: DrainMemory;
  /** Until when pods are evicted; afterwards they are deleted. */
  readonly evictUntil: Date;
  /** From when the drain is forced. */
  readonly forceAt: Date;
  /** `forceAt` is so early because the node does not answer; absent: the time to drain ends then. */
  readonly unresponsive?: true;
  /** Forced whatever the time: asked for by label. */
  readonly forced: boolean;
  /** The label that asks for that, as `key=value`; absent: `force-deletion=true`. */
  readonly forcedBy?: string;
  /** What becomes of pods that are left at `forceAt`; absent: `Force`. */
  readonly policy?: UndrainablePolicy;
  /** What is wrong with the annotation that names the policy. */
  readonly policyProblem?: string;
  readonly detachTimeoutMs: number;
  readonly reattachTimeoutMs: number;
  /** How many pods with volumes may be on their way at once at most, see `windowSize`. */
  readonly volumeWindow: number;
}
