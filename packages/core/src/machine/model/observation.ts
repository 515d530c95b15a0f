import type { Machine, MachineClass } from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { OpenBreaker } from '../../disruption/unreachable.ts';
import type { DrainObservation } from '../../drain/model/observation.ts';
import type { Instance } from '../../driver/contract/driver.ts';
import type { MachineError } from '../../driver/contract/errors.ts';
import type { MachineSettings } from '../../settings/settings.ts';
import type { HealthWrites, Reported } from './damping.ts';
import type { EvidenceState, KeepingState } from './memory.ts';

/** A capacity shortage that the cloud has reported. */
export interface Shortage {
  /** The most recent refusal. */
  readonly error: MachineError;
  /** No machine calls `create` before this time. */
  readonly retryAt: Date;
  /** True if one more machine may call `create` after `retryAt`. */
  readonly free: boolean;
}

/** An offering that a machine may use, and the known state of its capacity. */
export interface ObservedOffering {
  /** The text that is recorded on the Machine. */
  readonly record: string;
  /** Text for messages. */
  readonly text: string;
  readonly shortage?: Shortage;
  /**
   * Set if another machine makes the first call for the offering. This machine waits for the result, at most until this
   * time.
   */
  readonly awaitsFirstCall?: Date;
}

/** The reason why mcm does not check health now, and the time when mcm checks health again. */
export interface Doubt {
  readonly because: string;
  readonly until: Date;
}

/** The driver calls for a single machine. */
export type CallKind = 'create' | 'initialize' | 'status' | 'stop' | 'start' | 'delete';

/** The result of a driver call: the VM, or the error. */
export type CallOutcome =
  | {
      readonly ok: true;
      readonly instance?: Instance;
      readonly lastKnownState?: string | undefined;
      /**
       * Set if a lookup found a VM that does not run and will not start by itself. The text is the reason, as a predicate.
       */
      readonly ending?: string | undefined;
      /** Set if a lookup found the VM but could not confirm that it is initialized. */
      readonly incomplete?: true | undefined;
    }
  | { readonly ok: false; readonly error: MachineError };

/** A call that has not ended. */
export interface RunningCall {
  readonly kind: CallKind;
  readonly since: Date;
  /** The reason why the call takes long, as reported by the driver. */
  readonly waitsFor?: string;
  /**
   * Set if the call ignores its abort signal. The deadline and the grace period have passed. No other call starts before
   * this call ends.
   */
  readonly overdue?: FailedCall;
}

/** The last call of the machine that ended. */
export interface SettledCall {
  readonly kind: CallKind;
  readonly at: Date;
  readonly outcome: CallOutcome;
  /** Number of consecutive failures of this kind of call, including this call. The number is 0 after a success. */
  readonly failures: number;
  /** Versions of the class and Secrets that the call used. If the versions change, the next attempt does not wait. */
  readonly inputs: string;
}

/** A call that failed. */
export interface FailedCall extends SettledCall {
  readonly outcome: Extract<CallOutcome, { ok: false }>;
}

/** The calls of this process for one machine. The record is empty after a restart. */
export interface CallMemory {
  readonly running?: RunningCall;
  readonly last?: SettledCall;
  /** The VM that the last successful `create` created or found. */
  readonly created?: Instance | undefined;
  /** Set if a `create` of this process reached the driver. */
  readonly createSent?: true | undefined;
}

/** The observed state from which mcm decides about one machine. All parts come from one snapshot of the caches. */
export interface MachineObservation {
  readonly machine: Machine;
  readonly settings: MachineSettings;
  /** The class. Absent if the cache does not contain the class. */
  readonly machineClass?: MachineClass | undefined;
  /** Versions of the class and its Secrets, see {@link SettledCall.inputs}. */
  readonly inputs: string;
  /** True if the class's user data contains the placeholder of a bootstrap token. */
  readonly asksForToken: boolean;
  /** Expiry of the machine's bootstrap token, if known. */
  readonly tokenLivesUntil?: Date | undefined;
  /** True if the machine existed when this process became the leader. Another process may have sent calls for it. */
  readonly inherited?: boolean;
  /** False with `--target-kubeconfig=none`. mcm then knows no nodes and does no drains. */
  readonly hasTarget: boolean;
  /** The reason why mcm cannot read the Nodes of the target cluster, as a clause. Absent if mcm can read the Nodes. */
  readonly nodesUnseen?: string;
  /**
   * The Node of the machine. The label of the machine contains the name of this Node, or the label of the Node contains the
   * name of the machine.
   */
  readonly node?: Node | undefined;
  /** The Node with the name of the VM that was just created. This Node may belong to another machine. */
  readonly nodeOfCreated?: Node | undefined;
  /** A stale Node. This Node has the name of the machine's Node and belongs to an earlier VM that no machine has. */
  readonly conflictingNode?: Node;
  /** Set if this process has already deleted a Node of that name. */
  readonly conflictCameBack?: true | undefined;
  /**
   * Set if the Node in the label of the machine belongs to another machine. `own` is the Node whose label contains this
   * machine, if such a Node exists.
   */
  readonly nodeOfOther?: { readonly node: string; readonly ownedBy: string; readonly own?: string | undefined };
  /** True if the Node was deleted while this process was watching. */
  readonly nodeWasDeleted?: boolean | undefined;
  /** True if the API servers were unreachable for too long. mcm then checks no health, and only deletions continue. */
  readonly frozen: boolean;
  /** The reason why mcm does not check health now, other than a freeze. */
  readonly doubt?: Doubt | undefined;
  /** Recent status writes of this process about the machine's health. */
  readonly healthWrites?: HealthWrites | undefined;
  /** The last report of this process about the deletion of the machine. */
  readonly reported?: Reported | undefined;
  readonly calls: CallMemory;
  /** Set if the cloud lacks capacity for machines of this class and zone. */
  readonly shortage?: Shortage | undefined;
  /** The offerings that the machine may have, the first choice first. Absent if it has no alternatives. */
  readonly offerings?: readonly ObservedOffering[] | undefined;
  /** The optional calls that the driver supports. `create` and `delete` are always supported. */
  readonly driver: {
    readonly initialize: boolean;
    readonly status: boolean;
    readonly stop?: boolean;
    readonly hibernate?: boolean;
  };
  /** Number of machines of the same deployment that are being replaced, see {@link countReplacements}. */
  readonly replacementsInProgress: number;
  /** Maximum number of replacements at the same time, including this machine. If absent, the maximum is one. */
  readonly replacementsAllowed?: number;
  /** Set if too many machines became unreachable together with this machine. A replacement would not help then. */
  readonly breaker?: OpenBreaker | undefined;
  /** Set if the machine is unreachable in a small cluster and the cloud has not confirmed its VM yet. */
  readonly unconfirmed?: { readonly ask: true } | { readonly waitUntil: Date | undefined };
  /** The cloud's answer about the VM of an unreachable machine, as a sentence. */
  readonly cloudSays?: string | undefined;
  /** True if an event has reported that the circuit breaker prevents the replacement. */
  readonly held?: boolean | undefined;
  /** Settings of the machine that have no effect. */
  readonly warnings?: readonly string[];
  /** The last report about settings that have no effect. */
  readonly warned?: string | undefined;
  /** True if this process stores evidence of failures. */
  readonly keepsEvidence?: boolean;
  readonly evidence?: EvidenceState | undefined;
  /** True if the VM of a failed machine may be kept after its machine is deleted. */
  readonly keepsVms?: boolean;
  readonly keeping?: KeepingState | undefined;
  /** True if the machine is being deleted and was Failed when the deletion started. */
  readonly deletedForHealth?: boolean | undefined;
  /** True if mcm reacts to interruptions. */
  readonly interruptions?: boolean;
  /** True if a machine without a Node gets the condition `Ready`. */
  readonly readyCondition?: boolean | undefined;
  /** Set for an interrupted machine of a set that is being deleted. The value says whether its replacement is Running. */
  readonly successor?: 'running' | 'awaited' | undefined;
  /** The observed state of the drain. Set only for a machine with a Node that is being drained. */
  readonly drain?: DrainObservation | undefined;
}
