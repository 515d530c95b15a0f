import type { Machine, MachineClass } from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { OpenBreaker } from '../../disruption/unreachable.ts';
import type { DrainObservation } from '../../drain/model/observation.ts';
import type { Instance } from '../../driver/contract/driver.ts';
import type { MachineError } from '../../driver/contract/errors.ts';
import type { MachineSettings } from '../../settings/settings.ts';
import type { HealthWrites } from './damping.ts';
import type { EvidenceState, KeepingState } from './memory.ts';

/** A shortage of capacity that the cloud has reported. */
export interface Shortage {
  /** The newest refusal. */
  readonly error: MachineError;
  /** No machine calls `create` before this instant. */
  readonly retryAt: Date;
  /** Whether one more machine may call `create` after `retryAt`. */
  readonly free: boolean;
}

/** An offering that a machine may have, with what is known about its capacity. */
export interface ObservedOffering {
  /** The text of the Machine's record. */
  readonly record: string;
  /** For messages. */
  readonly text: string;
  readonly shortage?: Shortage;
  /** Another machine makes the first call for the offering. The machine waits for the result, at most until then. */
  readonly awaitsFirstCall?: Date;
}

/** Why mcm does not check health now, and when it tries again. */
export interface Doubt {
  readonly because: string;
  readonly until: Date;
}

/** The calls of a driver that concern one machine. */
export type CallKind = 'create' | 'initialize' | 'status' | 'delete';

/** The result of a driver call: the VM, or the error. */
export type CallOutcome =
  | {
      readonly ok: true;
      readonly instance?: Instance;
      readonly lastKnownState?: string | undefined;
      /** A look-up found a VM that does not run and does not start by itself. The text is a predicate with the reason. */
      readonly ending?: string | undefined;
      /** A look-up found the VM, but could not confirm that it is initialized. */
      readonly incomplete?: true | undefined;
    }
  | { readonly ok: false; readonly error: MachineError };

/** A call that has not ended. */
export interface RunningCall {
  readonly kind: CallKind;
  readonly since: Date;
  /** The reason for a wait, as reported by the driver. */
  readonly waitsFor?: string;
  /** The call ignores its abort signal: its deadline and grace period have passed. No other call starts before it ends. */
  readonly overdue?: SettledCall;
}

/** The last call that ended. */
export interface SettledCall {
  readonly kind: CallKind;
  readonly at: Date;
  readonly outcome: CallOutcome;
  /** Failures of this kind of call in a row, this one included; 0 after a success. */
  readonly failures: number;
  /** Versions of the class and Secrets of the call. After a change the retry does not wait. */
  readonly inputs: string;
}

/** The calls of this process for one machine. A new process starts without it. */
export interface CallMemory {
  readonly running?: RunningCall;
  readonly last?: SettledCall;
  /** The VM that `create` made or found, until it is recorded on the Machine or discarded. */
  readonly created?: Instance | undefined;
  /** A `create` of this process reached the driver. */
  readonly createSent?: true | undefined;
}

/** All input of the decision about one machine. It is one snapshot of the caches. */
export interface MachineObservation {
  readonly machine: Machine;
  readonly settings: MachineSettings;
  /** Absent if the cache has no such class. */
  readonly machineClass?: MachineClass | undefined;
  /** Versions of the class and its Secrets, see {@link SettledCall.inputs}. */
  readonly inputs: string;
  /** Whether the class's user data asks for a bootstrap token. */
  readonly asksForToken: boolean;
  /** The expiry of its bootstrap token, if known. */
  readonly tokenLivesUntil?: Date | undefined;
  /** The machine existed when this process became leader. Another process may have sent calls for it. */
  readonly inherited?: boolean;
  /** False with `--target-kubeconfig=none`: no nodes, no drain. */
  readonly hasTarget: boolean;
  /** Why mcm cannot read the Nodes of the target cluster, as a clause. Absent if it can. */
  readonly nodesUnseen?: string;
  /** The machine's Node: the label of the machine names it, or else the Node points back to the machine. */
  readonly node?: Node | undefined;
  /** The Node with the name of the VM just created. It may belong to another machine. */
  readonly nodeOfCreated?: Node | undefined;
  /** A Node with the name of the machine's own Node that belongs to an earlier VM. No machine has that VM. */
  readonly conflictingNode?: Node;
  /** This process already deleted a Node of that name. */
  readonly conflictCameBack?: true | undefined;
  /** The Node in the machine's label belongs to another machine. `own` is the Node that names this machine, if any. */
  readonly namedInVain?: { readonly node: string; readonly ownedBy: string; readonly own?: string | undefined };
  /** The Node vanished while this process watched. */
  readonly nodeWasDeleted?: boolean | undefined;
  /** The API servers were unreachable for too long. mcm checks no health, and only deletions continue. */
  readonly frozen: boolean;
  /** Why mcm does not check health now, although the controller is not frozen. */
  readonly doubt?: Doubt | undefined;
  /** Recent writes of this process about the machine's health. */
  readonly healthWrites?: HealthWrites | undefined;
  readonly calls: CallMemory;
  /** The cloud lacks capacity for machines of this class and zone. */
  readonly shortage?: Shortage | undefined;
  /** The offerings that the machine may have, the first choice first. Absent: it has no alternatives. */
  readonly offerings?: readonly ObservedOffering[] | undefined;
  /** Optional calls of the driver, in addition to `create` and `delete`. */
  readonly driver: { readonly initialize: boolean; readonly status: boolean };
  /** Machines of the same deployment that are being replaced, see {@link countReplacements}. */
  readonly replacementsInProgress: number;
  /** The limit of replacements at the same time, including this machine. Absent means one. */
  readonly replacementsAllowed?: number;
  /** Too many machines became unreachable together with this one. A replacement would not help. */
  readonly breaker?: OpenBreaker | undefined;
  /** The machine is unreachable in a small cluster, and the cloud has not yet confirmed its VM. */
  readonly unconfirmed?: { readonly ask: true } | { readonly waitUntil: Date | undefined };
  /** The cloud's answer about the VM of an unreachable machine, as a sentence. */
  readonly cloudSays?: string | undefined;
  /** An event has reported that the circuit breaker prevents the replacement. */
  readonly held?: boolean | undefined;
  /** Requests of the machine that have no effect. */
  readonly warnings?: readonly string[];
  /** The last report about those requests. */
  readonly warned?: string | undefined;
  /** Whether this process stores evidence of failures. */
  readonly keepsEvidence?: boolean;
  readonly evidence?: EvidenceState | undefined;
  /** Whether the VM of a failed machine may outlive the machine. */
  readonly keepsVms?: boolean;
  readonly keeping?: KeepingState | undefined;
  /** The machine is being deleted, and was Failed at the start of the deletion. */
  readonly deletedForHealth?: boolean | undefined;
  /** Whether mcm reacts to interruptions. */
  readonly interruptions?: boolean;
  /** For an interrupted machine of a set that is being deleted: whether its successor runs. */
  readonly successor?: 'running' | 'awaited' | undefined;
  /** The input of the drain. Only a machine that is drained and has a Node has it. */
  readonly drain?: DrainObservation | undefined;
}
