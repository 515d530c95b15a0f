import type { Machine, MachineClass } from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { OpenBreaker } from '../../disruption/silence.ts';
import type { DrainObservation } from '../../drain/model/observation.ts';
import type { Instance } from '../../driver/contract/driver.ts';
import type { MachineError } from '../../driver/contract/errors.ts';
import type { MachineSettings } from '../../settings/settings.ts';
import type { HealthWrites } from './damping.ts';
import type { EvidenceState, KeepingState } from './memory.ts';

/** What is known of capacity that a cloud lacks. */
export interface Shortage {
  /** The newest refusal. */
  readonly error: MachineError;
  /** Nobody asks the cloud before this instant. */
  readonly retryAt: Date;
  /** Whether one more machine may ask once `retryAt` has come. */
  readonly free: boolean;
}

/** Why health is not judged now, and when to look again. */
export interface Doubt {
  readonly because: string;
  readonly until: Date;
}

/** The calls of a driver that concern one machine. */
export type CallKind = 'create' | 'initialize' | 'status' | 'delete';

/** What came of a driver's call: the VM, or the error. */
export type CallOutcome =
  | {
      readonly ok: true;
      readonly instance?: Instance;
      readonly lastKnownState?: string;
      /** A look-up found the VM, which does not run and will not by itself: why, as a predicate. */
      readonly ending?: string;
      /** A look-up found the VM and does not know that it is initialized. */
      readonly incomplete?: true;
    }
  | { readonly ok: false; readonly error: MachineError };

/** A call under way. */
export interface RunningCall {
  readonly kind: CallKind;
  readonly since: Date;
  /** What it said that it waits for. */
  readonly waitsFor?: string;
  /** It ignores its signal: its deadline and the grace after it have passed. Nothing else is begun until it ends. */
  readonly overdue?: SettledCall;
}

/** The last call that ended. */
export interface SettledCall {
  readonly kind: CallKind;
  readonly at: Date;
  readonly outcome: CallOutcome;
  /** Failures of this kind of call in a row, this one included; 0 after a success. */
  readonly failures: number;
  /** Versions of the class and Secrets that it was made with: when they change, waiting for a retry makes no sense. */
  readonly inputs: string;
}

/** What this process knows of its calls for one machine; a new process knows nothing, and need not. */
export interface CallMemory {
  readonly running?: RunningCall;
  readonly last?: SettledCall;
  /** The VM that `create` made or found, as long as it is not yet recorded on the Machine or being discarded. */
  readonly created?: Instance;
  /** A `create` of this process reached the driver. */
  readonly createSent?: true;
}

/** Everything that the decision about one machine needs, read from caches at one moment. */
export interface MachineObservation {
  readonly machine: Machine;
  readonly settings: MachineSettings;
  /** Absent when there is none in the cache. */
  readonly machineClass?: MachineClass;
  /** Versions of the class and its Secrets, see {@link SettledCall.inputs}. */
  readonly inputs: string;
  /** Whether the class's user data asks for a bootstrap token. */
  readonly asksForToken: boolean;
  /** Until when its bootstrap token is known to live. */
  readonly tokenLivesUntil?: Date;
  /** It was there when this process began to lead: another process may have sent calls for it. */
  readonly inherited?: boolean;
  /** False with `--target-kubeconfig=none`: no nodes, no drain. */
  readonly hasTarget: boolean;
  /** Why the nodes of the target cluster cannot be seen, as a clause; absent: they can. */
  readonly nodesUnseen?: string;
  /** The machine's Node: named by its label or, failing that, pointing back to the machine. */
  readonly node?: Node;
  /** The Node that has the name of the VM just created, whoever it belongs to. */
  readonly nodeOfCreated?: Node;
  /** A Node that bears the name of the machine's own, but is that of an earlier VM, which no other machine has. */
  readonly squatter?: Node;
  /** This process deleted a Node of that name before. */
  readonly squatterCameBack?: true;
  /** The machine has no Node, as the one that its label names is another machine's; and which Node names it, if one does. */
  readonly namedInVain?: { readonly node: string; readonly ownedBy: string; readonly own?: string };
  /** The Node vanished while this process watched. */
  readonly nodeWasDeleted?: boolean;
  /** The API servers were out of reach for long: nothing is judged, only deletions go on. */
  readonly frozen: boolean;
  /** Why health is not judged now, although nothing is frozen. */
  readonly doubt?: Doubt;
  /** What this process has written of its health lately. */
  readonly healthWrites?: HealthWrites;
  readonly calls: CallMemory;
  /** The cloud lacks capacity for machines of this class and zone. */
  readonly shortage?: Shortage;
  /** What the driver can do besides `create` and `delete`. */
  readonly driver: { readonly initialize: boolean; readonly status: boolean };
  /** Machines of the same deployment that are being replaced, see {@link countReplacements}. */
  readonly replacementsInProgress: number;
  /** How many may be, this one included; absent: one. */
  readonly replacementsAllowed?: number;
  /** So many fell silent with this machine that replacing it would cure nothing. */
  readonly breaker?: OpenBreaker;
  /** It is silent in a small cluster, and the cloud has not yet said whether its VM is there. */
  readonly unconfirmed?: { readonly ask: true } | { readonly waitUntil: Date | undefined };
  /** What the cloud said of the VM of a silent machine, as a sentence. */
  readonly cloudSays?: string;
  /** Somebody was told that the breaker holds it back. */
  readonly held?: boolean;
  /** What it asks for in vain. */
  readonly complaints?: readonly string[];
  /** And what was told of that. */
  readonly complained?: string;
  /** Evidence of failures is kept in this process. */
  readonly keepsEvidence?: boolean;
  readonly evidence?: EvidenceState;
  /** VMs of failed machines may outlive them. */
  readonly keepsVms?: boolean;
  readonly keeping?: KeepingState;
  /** It is being deleted, and was Failed when that began. */
  readonly deletedForHealth?: boolean;
  /** What a drain sees; only for a machine that is being deleted and has a node. */
  readonly drain?: DrainObservation;
}
