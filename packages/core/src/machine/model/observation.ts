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
  readonly error: MachineError;
  readonly retryAt: Date;
  readonly free: boolean;
}

/** An offering that a machine may use, and the known state of its capacity. */
export interface ObservedOffering {
  readonly record: string;
  readonly text: string;
  readonly shortage?: Shortage;
  /**
   * `awaitsFirstCall` is set if another machine makes the first call for the offering. The observed machine waits for
   * the result, at the latest until the time `awaitsFirstCall`.
   */
  readonly awaitsFirstCall?: Date;
}

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
       * `ending` is set if a lookup found a VM that does not run and will not start by itself. `ending` is a predicate,
       * such as "is stopped".
       */
      readonly ending?: string | undefined;
      /** `incomplete` is set if a lookup found the VM but could not confirm that it is initialized. */
      readonly incomplete?: true | undefined;
    }
  | { readonly ok: false; readonly error: MachineError };

export interface RunningCall {
  readonly kind: CallKind;
  readonly since: Date;
  readonly waitsFor?: string;
  /**
   * `overdue` is set if the call ignores its abort signal and its grace period has passed. While a call is overdue, no
   * other call of the machine starts.
   */
  readonly overdue?: FailedCall;
}

export interface SettledCall {
  readonly kind: CallKind;
  readonly at: Date;
  readonly outcome: CallOutcome;
  /** Number of consecutive failures of this kind of call, including this call; 0 after a success. */
  readonly failures: number;
  readonly inputs: string;
}

export interface FailedCall extends SettledCall {
  readonly outcome: Extract<CallOutcome, { ok: false }>;
}

/** The calls of this process for one machine. After a restart, the record of calls is empty. */
export interface CallMemory {
  readonly running?: RunningCall;
  readonly last?: SettledCall;
  readonly created?: Instance | undefined;
  readonly createSent?: true | undefined;
}

/** The observed state of one machine, from one snapshot of the caches. */
export interface MachineObservation {
  readonly machine: Machine;
  readonly settings: MachineSettings;
  /** `machineClass` is absent if the cache does not contain the class. */
  readonly machineClass?: MachineClass | undefined;
  readonly inputs: string;
  readonly asksForToken: boolean;
  readonly tokenLivesUntil?: Date | undefined;
  readonly inherited?: boolean;
  /** `hasTarget` is false with `--target-kubeconfig=none`. mcm then knows no nodes and does no drains. */
  readonly hasTarget: boolean;
  /** A part of a sentence with the reason why mcm cannot read the Nodes. `nodesUnseen` is absent if mcm can read the Nodes. */
  readonly nodesUnseen?: string;
  /** The Node in the label of the machine, or the Node whose label contains the machine. */
  readonly node?: Node | undefined;
  /** The Node with the name of the new VM. This Node may belong to another machine. */
  readonly nodeOfCreated?: Node | undefined;
  /** A stale Node: it has the name of the machine's Node, but belongs to an earlier VM without a machine. */
  readonly conflictingNode?: Node;
  readonly conflictCameBack?: true | undefined;
  /**
   * `nodeOfOther` is set if the Node in the label of the machine belongs to another machine. `own` is the Node whose
   * label contains this machine.
   */
  readonly nodeOfOther?: { readonly node: string; readonly ownedBy: string; readonly own?: string | undefined };
  /** `nodeWasDeleted` is true if mcm saw the deletion of the Node. */
  readonly nodeWasDeleted?: boolean | undefined;
  /**
   * `frozen` is true if the API servers were unreachable for too long. In this case, mcm checks no health, and only
   * deletions continue.
   */
  readonly frozen: boolean;
  readonly doubt?: Doubt | undefined;
  readonly healthWrites?: HealthWrites | undefined;
  readonly reported?: Reported | undefined;
  readonly calls: CallMemory;
  readonly shortage?: Shortage | undefined;
  /** The offerings of the machine, the first choice first. `offerings` is absent without alternatives. */
  readonly offerings?: readonly ObservedOffering[] | undefined;
  readonly driver: {
    readonly initialize: boolean;
    readonly status: boolean;
    readonly stop?: boolean;
    readonly hibernate?: boolean;
  };
  /** Number of machines of the same deployment that are being replaced, see {@link countReplacements}. */
  readonly replacementsInProgress: number;
  /** The maximum of `replacementsInProgress`, by default one. */
  readonly replacementsAllowed?: number;
  /** `breaker` is set if too many machines became unreachable at the same time as this machine. */
  readonly breaker?: OpenBreaker | undefined;
  /**
   * `unconfirmed` is set if the machine is unreachable in a small cluster and the cloud has not confirmed the VM yet.
   */
  readonly unconfirmed?: { readonly ask: true } | { readonly waitUntil: Date | undefined };
  readonly cloudSays?: string | undefined;
  readonly held?: boolean | undefined;
  /** Labels, annotations and taints with the policy `Warn` that another client changed, such as `labels/team`. */
  readonly drift?: readonly string[] | undefined;
  /** The drift that was reported last. */
  readonly reportedDrift?: string | undefined;
  readonly warnings?: readonly string[];
  readonly warned?: string | undefined;
  readonly keepsEvidence?: boolean;
  readonly evidence?: EvidenceState | undefined;
  readonly keepsVms?: boolean;
  readonly keeping?: KeepingState | undefined;
  /** `deletedForHealth` is true if the machine is being deleted and was Failed when the deletion started. */
  readonly deletedForHealth?: boolean | undefined;
  readonly interruptions?: boolean;
  /** `readyCondition` is true if a machine without a Node gets the condition `Ready`. */
  readonly readyCondition?: boolean | undefined;
  /** True if the machine gets `status.blockedBy`. */
  readonly blockedBy?: true | undefined;
  /**
   * `successor` is set while an interrupted machine of a set is being deleted. The value of `successor` states whether
   * the replacement is Running.
   */
  readonly successor?: 'running' | 'awaited' | undefined;
  /** `drain` is set only for a machine with a Node that is being drained. */
  readonly drain?: DrainObservation | undefined;
}
