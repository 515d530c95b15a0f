import type { Machine, MachineClass } from '@mcm/api';
import type { Logger } from '@mcm/kube';
import type { InstanceEvidence } from './bundle.ts';
import type { TagChanges } from './tags.ts';

/**
 * The input of every driver call. The provider spec and the credentials of a driver call have already passed the
 * validation by the driver's schemas.
 */
export interface DriverRequest<Spec, Credentials> {
  readonly machineClass: MachineClass;
  readonly spec: Spec;
  readonly credentials: Credentials;
  /** Aborts at the deadline of the call, or when the process stops; the call must then reject within a second. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /**
   * The ID of the caller's control cluster, if it is known. A driver writes the owner to a tag of the VM in `create`
   * (see `ownerTags`), and returns the owner in `list`.
   */
  readonly owner?: string | undefined;
  /** VMs with the tags of former control clusters belong to the current control cluster. */
  readonly formerOwners?: readonly string[] | undefined;
  readonly observeApi?: ObserveApi;
}

/**
 * Called at the end of each request to the cloud.
 * @param service The name of the request in the metrics of the driver.
 * @param error The failure, or undefined if the request succeeded.
 */
export type ObserveApi = (service: string, ms: number, error: unknown) => void;

/** Input of a driver call for one machine. */
export interface MachineRequest<Spec, Credentials> extends DriverRequest<Spec, Credentials> {
  readonly machine: Machine;
}

/** Input for the creation of a VM. */
export interface CreateRequest<Spec, Credentials> extends MachineRequest<Spec, Credentials> {
  readonly userData: Uint8Array;
  /** Reports the reason for a long creation in a few words. The status of the Machine shows this reason. */
  readonly waitsFor?: (what: string) => void;
}

/** Input for stopping a VM. */
export interface StopRequest<Spec, Credentials> extends MachineRequest<Spec, Credentials> {
  /** Whether the cloud must keep the memory of the VM, only for a driver with `hibernates`. */
  readonly hibernate: boolean;
}

/** Input for a change of the tags of a VM. */
export interface TagRequest<Spec, Credentials> extends MachineRequest<Spec, Credentials> {
  /** Keys and values contain only lowercase letters, digits, `-` and `_`, and have at most 63 characters. */
  readonly tags: TagChanges;
}

/** Input for a list of VMs. */
export interface ListRequest<Spec, Credentials> extends DriverRequest<Spec, Credentials> {
  /** The keys of the tags that a driver with `tag` returns for each VM, or undefined if the caller needs no tags. */
  readonly tagKeys?: readonly string[] | undefined;
}

/** An address of a VM. The types of VM addresses are the types of Node addresses, such as `InternalIP`. */
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
   * The creation time of the VM in RFC 3339, if known. The machine controller adopts the oldest VM if a machine has
   * several VMs.
   */
  readonly createdAt?: string | undefined;
  /**
   * The reason why the VM does not run and will not start again, such as `being deleted`. mcm does not adopt such a VM,
   * and waits until the VM is gone. If all machines of a small cluster are unreachable, mcm keeps each machine whose VM
   * exists and has no such reason.
   */
  readonly ending?: string | undefined;
}

/** A VM that `create` returns, and provider state for the status of the Machine. */
export interface CreatedInstance extends Instance {
  readonly lastKnownState?: string;
}

/** A VM that `list` returns. */
export interface ListedInstance {
  readonly providerId: string;
  readonly machineName: string;
  /** A new VM is never treated as an orphan. */
  readonly createdAt?: string;
  readonly owner?: string;
  /** The tags with the keys in `tagKeys` of the request (see `listedTags`). */
  readonly tags?: Readonly<Record<string, string>>;
}

/**
 * The kind of event that a cloud announces for a VM:
 *
 * - `Terminate`: the VM ends at the deadline, for example because a spot VM is reclaimed.
 * - `Maintenance`: the VM is moved, rebooted or retired at the deadline.
 * - `Ended`: the VM has stopped or is deleted. mcm verifies this notice with a lookup in the cloud.
 * - `Freeze`: the VM pauses for a few seconds, and mcm only sends an event.
 * - `Rebalance`: the VM will probably end earlier than other VMs, and mcm only sends an event.
 */
export type InterruptionKind = 'Terminate' | 'Maintenance' | 'Ended' | 'Freeze' | 'Rebalance';

/** A notice of a cloud about one VM. */
export interface InterruptionNotice {
  /** All repetitions of a notice have an equal ID. */
  readonly id: string;
  /** The provider ID of the VM, or the part of the ID that the cloud uses in notices, such as `i-0abc`. */
  readonly providerId: string;
  readonly kind: InterruptionKind;
  /** The time at which the cloud sent the notice, RFC 3339. */
  readonly noticedAt: string;
  /** The RFC 3339 time at which the cloud acts on the VM, or undefined if the time is unknown. */
  readonly deadline?: string | undefined;
  readonly detail: string;
}

/**
 * The result of processing a notice.
 *
 * - `done`: the notice is recorded or has no effect, so the driver removes it from the queue of the cloud.
 * - `later`: the VM is not recorded yet, or a request failed, so the driver reports the notice again later.
 */
export type NoticeAnswer = 'done' | 'later';

/** Input of a call that waits for notices. */
export interface InterruptionRequest<Spec, Credentials> extends DriverRequest<Spec, Credentials> {
  /** Records a notice in the control cluster, and never rejects. */
  readonly notify: (notice: InterruptionNotice) => Promise<NoticeAnswer>;
}

/** The part of a PersistentVolume's spec that contains the volume ID of the cloud. */
export interface VolumeSource {
  readonly csi?: { readonly driver: string; readonly volumeHandle: string };
  readonly [source: string]: unknown;
}

/**
 * The operations of one cloud. A method is absent if the driver does not support the operation. Every method of a
 * driver is idempotent, because mcm repeats a call whose response was lost. A repeated `create` finds the first VM by
 * the UID of the Machine. Methods throw `MachineError`.
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
   * Looks up the VM of a machine. Before the first `create`, the driver also searches by name, because another
   * controller may have created the VM. `status` returns no VMs of other control clusters (see `isOthers`) and no VMs
   * that have ended.
   * @throws `NotFound`: the cloud confirms that no VM exists; `Uninitialized`: a VM exists, but `initialize` has not
   *   succeeded; `OutOfRange`: several VMs match. The errors `Uninitialized` and `OutOfRange` contain the VMs
   *   (`MachineError.found`).
   */
  status?(request: MachineRequest<Spec, Credentials>): Promise<FoundInstance>;
  /**
   * Deletes the VM with its NICs and disks. `delete` resolves when the cloud reports that the VM is deleted or absent.
   * `delete` must not resolve earlier, because the kubelet of an existing VM could register its Node again. A long
   * deletion may reject with `DeadlineExceeded`, and the caller repeats the call.
   */
  delete(request: MachineRequest<Spec, Credentials>): Promise<{ readonly lastKnownState?: string } | undefined>;
  /**
   * Stops the VM of a machine and keeps its disks, addresses and identity. `stop` resolves when the cloud reports that
   * the VM is stopped. A stopped VM is still in the results of `status` and `list`. A driver with `stop` must have
   * `start`.
   * @throws `NotFound`: the cloud confirms that no VM exists
   */
  stop?(request: StopRequest<Spec, Credentials>): Promise<void>;
  /**
   * Starts the stopped VM of a machine. `start` resolves when the cloud reports that the VM is running. For a VM that
   * is still stopping, `start` waits, or rejects with `Unavailable`.
   * @throws `NotFound`: the cloud confirms that no VM exists; `ResourceExhausted`: no capacity, and the VM stays
   * stopped
   */
  start?(request: MachineRequest<Spec, Credentials>): Promise<void>;
  /** Whether `stop` can keep the memory of the VM. */
  readonly hibernates?: boolean;
  /**
   * Sets and removes tags of a machine's VM, even if the VM is stopped. `tag` changes no other tag, even if another
   * program changes tags at the same time. If the VM no longer exists, `tag` resolves. A driver with `tag` returns the
   * tags in `list`.
   * @throws `PermissionDenied` or another code with `credentialsRefused`: the credentials do not permit changes of tags
   */
  tag?(request: TagRequest<Spec, Credentials>): Promise<void>;
  /**
   * Returns the state and the console output of a VM that failed to join or became unhealthy. `evidence` changes
   * nothing in the cloud, and has a time limit of 15 seconds. Truncated console output must begin at the start of a
   * line. The controller removes secrets from the evidence.
   */
  evidence?(request: MachineRequest<Spec, Credentials>): Promise<InstanceEvidence>;
  /**
   * Waits at most about 20 s for notices about VMs in the account of the class, and reports each notice to `notify`.
   * The controller repeats `watchInterruptions` after each return. A driver may report a notice several times, late,
   * and in any order. The driver removes a notice from its queue only after the answer `done`.
   */
  watchInterruptions?(request: InterruptionRequest<Spec, Credentials>): Promise<void>;
  /**
   * Returns an ID of the source from which a class receives notices, for example a region and an account. All classes
   * with one source share one call of `watchInterruptions`.
   */
  interruptionSource?(machineClass: MachineClass): string | undefined;
  /**
   * Returns all VMs that have the cluster tag and the role tag of the class. The driver must read all pages of the
   * list.
   */
  list?(request: ListRequest<Spec, Credentials>): Promise<readonly ListedInstance[]>;
  /**
   * Returns the cloud IDs of volumes, in the order of the volumes in the parameter. The ID of a volume from another
   * cloud is undefined.
   */
  volumeIds?(sources: readonly VolumeSource[]): readonly (string | undefined)[];
}
