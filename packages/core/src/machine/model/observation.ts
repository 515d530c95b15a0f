import type { Machine, MachineClass } from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { OpenBreaker } from '../../disruption/unreachable.ts';
import type { DrainObservation } from '../../drain/model/observation.ts';
import type { Instance } from '../../driver/contract/driver.ts';
import type { MachineError } from '../../driver/contract/errors.ts';
import type { MachineSettings } from '../../settings/settings.ts';
import type { HealthWrites, Reported } from './damping.ts';
import type { EvidenceState, KeepingState } from './memory.ts';

export interface Shortage {
  readonly error: MachineError;
  readonly retryAt: Date;
  readonly free: boolean;
}

export interface ObservedOffering {
  readonly record: string;
  readonly text: string;
  readonly shortage?: Shortage;
  /** The machine waits until this time, because another machine makes the first `create` call for the offering. */
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
      /** Set if a lookup found a VM that does not run and will not start by itself, such as "is stopped". */
      readonly ending?: string | undefined;
      /** Whether a lookup found the VM, but did not confirm that the VM is initialized. */
      readonly incomplete?: true | undefined;
    }
  | { readonly ok: false; readonly error: MachineError };

export interface RunningCall {
  readonly kind: CallKind;
  readonly since: Date;
  readonly waitsFor?: string;
  /**
   * The error of a driver call that still runs after its deadline. Until the call ends, no other call for the machine
   * starts.
   */
  readonly overdue?: FailedCall;
}

export interface SettledCall {
  readonly kind: CallKind;
  readonly at: Date;
  readonly outcome: CallOutcome;
  readonly failures: number;
  readonly inputs: string;
}

export interface FailedCall extends SettledCall {
  readonly outcome: Extract<CallOutcome, { ok: false }>;
}

export interface CallMemory {
  readonly running?: RunningCall;
  readonly last?: SettledCall;
  readonly created?: Instance | undefined;
  readonly createSent?: true | undefined;
}

/** The observed state of one machine. All objects of an observation come from the caches at one point in time. */
export interface MachineObservation {
  readonly machine: Machine;
  readonly settings: MachineSettings;
  readonly machineClass?: MachineClass | undefined;
  readonly inputs: string;
  readonly asksForToken: boolean;
  readonly tokenLivesUntil?: Date | undefined;
  readonly inherited?: boolean;
  /** For a machine without a recorded action, the time since which the class or a Secret lacks the finalizer of mcm. */
  readonly unprotectedSince?: Date | undefined;
  /** True if the cache lacks the class or a Secret, and no controller has recorded an action for the machine. */
  readonly inputsMissing?: true | undefined;
  /** Whether mcm has a target cluster; with `--target-kubeconfig=none`, mcm neither reads Nodes nor drains them. */
  readonly hasTarget: boolean;
  readonly nodesUnseen?: string;
  /** The Node whose name is in the label of the machine, or the Node that names the machine in its own label. */
  readonly node?: Node | undefined;
  /** The Node that has the name of the new VM, but may belong to another machine. */
  readonly nodeOfCreated?: Node | undefined;
  /** A stale Node that has the name of the machine's Node. */
  readonly conflictingNode?: Node;
  readonly missingNode?: { readonly uid: string; readonly until: Date } | undefined;
  readonly conflictCameBack?: true | undefined;
  /** The Node whose label names this machine, if the Node in the label of the machine belongs to another machine. */
  readonly nodeOfOther?: { readonly node: string; readonly ownedBy: string; readonly own?: string | undefined };
  readonly nodeWasDeleted?: boolean | undefined;
  /** A frozen controller skips health checks, but continues deletions. */
  readonly frozen: boolean;
  readonly doubt?: Doubt | undefined;
  readonly healthWrites?: HealthWrites | undefined;
  readonly reported?: Reported | undefined;
  readonly calls: CallMemory;
  readonly shortage?: Shortage | undefined;
  readonly offerings?: readonly ObservedOffering[] | undefined;
  readonly driver: {
    readonly initialize: boolean;
    readonly status: boolean;
    readonly stop?: boolean;
    readonly hibernate?: boolean;
  };
  readonly replacementsInProgress: number;
  readonly replacementsAllowed?: number;
  /** The open circuit breaker, if too many machines became unreachable at about the same time. */
  readonly breaker?: OpenBreaker | undefined;
  readonly unconfirmed?: { readonly ask: true } | { readonly waitUntil: Date | undefined };
  readonly cloudSays?: string | undefined;
  /** True if mcm records the state of the machine's VM, because a circuit breaker is open. */
  readonly looksUpVm?: true | undefined;
  readonly held?: boolean | undefined;
  /** The labels, annotations and taints with the policy `Warn` that another client changed, such as `labels/team`. */
  readonly drift?: readonly string[] | undefined;
  readonly reportedDrift?: string | undefined;
  readonly warnings?: readonly string[];
  readonly warned?: string | undefined;
  readonly keepsEvidence?: boolean;
  readonly evidence?: EvidenceState | undefined;
  readonly keepsVms?: boolean;
  readonly keeping?: KeepingState | undefined;
  readonly deletedForHealth?: boolean | undefined;
  readonly interruptions?: boolean;
  readonly readyCondition?: boolean | undefined;
  readonly blockedBy?: true | undefined;
  /** During the deletion of an interrupted machine, shows whether its replacement is Running. */
  readonly successor?: 'running' | 'awaited' | undefined;
  readonly drain?: DrainObservation | undefined;
}
