import type { Machine, MachineClass } from '@mcm/api';
import type { Logger } from '@mcm/kube';
import type { InstanceEvidence } from './bundle.ts';

/** The input of every driver call; the driver's zod schemas have validated `Spec` and `Credentials`. */
export interface DriverRequest<Spec, Credentials> {
  readonly machineClass: MachineClass;
  readonly spec: Spec;
  readonly credentials: Credentials;
  /**
   * The signal aborts when the deadline of the call passes or the process stops. After the signal aborts, the call must
   * reject within a second.
   */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /**
   * The control cluster of the caller, if known. `create` tags the VM with its owner (see `ownerTags`), and `list`
   * returns this tag.
   */
  readonly owner?: string | undefined;
  /**
   * Control clusters that the caller's control cluster replaces. VMs with the tags of former owners belong to the
   * caller's control cluster.
   */
  readonly formerOwners?: readonly string[] | undefined;
  readonly observeApi?: ObserveApi;
}

/**
 * @param service The name of the request in the driver's metrics.
 * @param error The failure, if any.
 */
export type ObserveApi = (service: string, ms: number, error: unknown) => void;

/** Input of a driver call for one machine. */
export interface MachineRequest<Spec, Credentials> extends DriverRequest<Spec, Credentials> {
  readonly machine: Machine;
}

/** Input for the creation of a VM. */
export interface CreateRequest<Spec, Credentials> extends MachineRequest<Spec, Credentials> {
  readonly userData: Uint8Array;
  /**
   * Reports in a few words why the creation takes long. The status of the Machine shows the reported text until the
   * call ends.
   */
  readonly waitsFor?: (what: string) => void;
}

/** Input for stopping a VM. */
export interface StopRequest<Spec, Credentials> extends MachineRequest<Spec, Credentials> {
  /** `hibernate` is true if the cloud must keep the memory of the VM. Only drivers with `hibernates` get this value. */
  readonly hibernate: boolean;
}

/** An address of a VM, with a type of Node addresses such as `InternalIP`. */
export interface Address {
  readonly type: string;
  readonly address: string;
}

/** A VM in the cloud. */
export interface Instance {
  readonly providerId: string;
  readonly nodeName: string;
  readonly addresses?: readonly Address[];
}

/** A VM that `status` returns. */
export interface FoundInstance extends Instance {
  /**
   * Creation time of the VM, RFC 3339, if known. If a machine has several VMs, the machine controller adopts the oldest
   * one.
   */
  readonly createdAt?: string | undefined;
  /**
   * `ending` is set if the VM does not run and will not start by itself. `ending` is the reason, such as `being
   * deleted`. A machine without a VM does not adopt a VM with `ending`, but waits until this VM is gone. In a small
   * cluster, an unreachable machine is replaced if its VM has `ending`.
   */
  readonly ending?: string | undefined;
}

/** A created VM, with the state that the driver wants to store. */
export interface CreatedInstance extends Instance {
  /**
   * State of the provider that the controller stores in `status.lastKnownState`. The controller does not interpret the
   * state of the provider.
   */
  readonly lastKnownState?: string;
}

/** A VM that `list` returns. */
export interface ListedInstance {
  readonly providerId: string;
  readonly machineName: string;
  /** Creation time of the VM, RFC 3339, if known. A new VM is never treated as an orphan. */
  readonly createdAt?: string;
  /** The control cluster that created the VM, if known (see `ownerOf`). */
  readonly owner?: string;
}

/**
 * The kind of event that a cloud announces for a VM:
 *
 * - `Terminate`: the VM ends at the deadline, for example because a spot VM is reclaimed.
 * - `Maintenance`: the VM is moved, rebooted or retired at the deadline.
 * - `Ended`: the VM has stopped or is deleted. mcm verifies this with a lookup in the cloud.
 * - `Freeze`: the VM pauses for a few seconds. mcm only sends an event.
 * - `Rebalance`: the VM has an increased risk to end. mcm only sends an event.
 */
export type InterruptionKind = 'Terminate' | 'Maintenance' | 'Ended' | 'Freeze' | 'Rebalance';

/** A notice of a cloud about one VM. */
export interface InterruptionNotice {
  /** ID of the notice. All repetitions of a notice have the same ID. */
  readonly id: string;
  /** The provider ID of the VM, or the part of the ID that the cloud uses in notices, such as `i-0abc`. */
  readonly providerId: string;
  readonly kind: InterruptionKind;
  /** The time at which the cloud sent the notice, RFC 3339. */
  readonly noticedAt: string;
  /**
   * The time at which the cloud acts, RFC 3339. `deadline` is absent if the cloud acts at once or the time is unknown.
   */
  readonly deadline?: string | undefined;
  /** The reason in the words of the cloud. */
  readonly detail: string;
}

/**
 * The result of processing a notice.
 *
 * - `done`: the notice is recorded or has no effect, and the driver removes the notice from its source.
 * - `later`: the VM is not recorded yet, or a request failed, and the driver reports the notice again.
 */
export type NoticeAnswer = 'done' | 'later';

/** Input of a call that waits for notices. */
export interface InterruptionRequest<Spec, Credentials> extends DriverRequest<Spec, Credentials> {
  /** Records a notice. The promise of `notify` never rejects. */
  readonly notify: (notice: InterruptionNotice) => Promise<NoticeAnswer>;
}

/** The part of a PersistentVolume's spec with the ID of the volume in the cloud. */
export interface VolumeSource {
  readonly csi?: { readonly driver: string; readonly volumeHandle: string };
  readonly [source: string]: unknown;
}

/**
 * The calls of one cloud. Every method is idempotent, because the caller repeats a call if its response is lost.
 * Methods throw `MachineError`. A method is absent if the driver does not support it. The UID of the Machine identifies
 * the VM, so a repeated `create` finds the first VM.
 */
export interface Driver<Spec = unknown, Credentials = unknown> {
  readonly name: string;
  /**
   * Creates the VM of a machine, or finds the VM that an earlier call created.
   * @throws `ResourceExhausted`: no quota or capacity; `InvalidArgument`: the spec can never work; `Unavailable`,
   * `DeadlineExceeded`, `Aborted`, `Unknown`: the caller retries soon
   */
  create(request: CreateRequest<Spec, Credentials>): Promise<CreatedInstance>;
  initialize?(request: MachineRequest<Spec, Credentials>): Promise<Instance>;
  /**
   * Looks up the VM of a machine. Before the first `create`, the lookup also uses the name of the machine, because
   * another controller may have created the VM without recording it. The result contains no VMs of other control
   * clusters and no VMs that have ended, see `isOthers`.
   * @throws `NotFound`: the cloud confirms that no VM exists; `Uninitialized`: a VM exists, but `initialize` has not
   * succeeded; `OutOfRange`: several VMs match. `Uninitialized` and `OutOfRange` contain the VMs
   * (`MachineError.found`).
   */
  status?(request: MachineRequest<Spec, Credentials>): Promise<FoundInstance>;
  /**
   * Deletes the VM with its NICs and disks. The promise resolves when the cloud reports the VM as deleted or absent.
   * With an earlier resolution, the running kubelet could register the Node again. A long deletion may reject with
   * `DeadlineExceeded`, and the caller repeats the call.
   */
  delete(request: MachineRequest<Spec, Credentials>): Promise<{ readonly lastKnownState?: string } | undefined>;
  /**
   * Stops the VM of a machine and keeps its disks, addresses and identity. The promise resolves when the cloud reports
   * the VM as stopped, so that its kubelet sends no further requests. `status` and `list` still find a stopped VM. A
   * driver with `stop` must have `start`.
   * @throws `NotFound`: the cloud confirms that there is no VM
   */
  stop?(request: StopRequest<Spec, Credentials>): Promise<void>;
  /**
   * Starts the stopped VM of a machine. The promise resolves when the cloud reports the VM as running. If the VM is
   * still stopping, the driver waits and then starts the VM, or the call rejects with `Unavailable`. A driver with
   * `start` must have `stop`.
   * @throws `NotFound`: the cloud confirms that there is no VM; `ResourceExhausted`: no capacity, and the VM stays
   * stopped
   */
  start?(request: MachineRequest<Spec, Credentials>): Promise<void>;
  /** `hibernates` is true if `stop` can keep the memory of the VM. */
  readonly hibernates?: boolean;
  /**
   * Returns the state and console output of a VM that failed to join or became unhealthy. The call for evidence changes
   * nothing. The controller removes secrets from the evidence. Truncated console output must begin at the start of a
   * line. The call for evidence has a time limit of 15 s.
   */
  evidence?(request: MachineRequest<Spec, Credentials>): Promise<InstanceEvidence>;
  /**
   * Waits at most about 20 s for notices about VMs of the class's account, and reports each notice to `notify`. The
   * controller repeats `watchInterruptions` after each return. After an error, the delay before the next call grows. A
   * notice may be reported several times, late, and in any order. The driver removes a notice from a queue only after
   * the answer `done`.
   */
  watchInterruptions?(request: InterruptionRequest<Spec, Credentials>): Promise<void>;
  /**
   * Identifies the source of notices of a class, such as a region and its credentials. One call to `watchInterruptions`
   * serves all classes with the same source.
   */
  interruptionSource?(machineClass: MachineClass): string | undefined;
  /** Returns all VMs of the class's cluster and role, from all pages. */
  list?(request: DriverRequest<Spec, Credentials>): Promise<readonly ListedInstance[]>;
  /** Returns the cloud's IDs of volumes, in the same order. The ID is undefined for a volume of another cloud. */
  volumeIds?(sources: readonly VolumeSource[]): readonly (string | undefined)[];
}
