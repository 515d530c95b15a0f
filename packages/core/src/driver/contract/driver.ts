import type { Machine, MachineClass } from '@mcm/api';
import type { Logger } from '@mcm/kube';
import type { InstanceEvidence } from './bundle.ts';

/** What every driver call gets. `Spec` and `Credentials` are parsed by the driver's zod schemas before the call. */
export interface DriverRequest<Spec, Credentials> {
  readonly machineClass: MachineClass;
  readonly spec: Spec;
  readonly credentials: Credentials;
  /** Aborted when the call's deadline passes or the process stops: the call must reject within a second. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** The control cluster that asks: `create` marks the VM with it (see `ownerTags`), `list` tells the mark. Absent: unknown. */
  readonly owner?: string;
  /** Control clusters that this one was moved from: their VMs count as its own. */
  readonly formerOwners?: readonly string[];
  /** Receives each request to the cloud, for metrics; absent: requests are not counted. */
  readonly observeApi?: ObserveApi;
}

/** @param service The name of the request in the driver's metrics. @param error The failure, if any. */
export type ObserveApi = (service: string, ms: number, error: unknown) => void;

/** A request about one machine. */
export interface MachineRequest<Spec, Credentials> extends DriverRequest<Spec, Credentials> {
  readonly machine: Machine;
}

/** What a driver makes a VM from. */
export interface CreateRequest<Spec, Credentials> extends MachineRequest<Spec, Credentials> {
  /**
   * The bytes of the Secret's `userData`, with its placeholders replaced. They are often text, but may be any bytes, such
   * as gzip. Give them to the cloud unchanged. Never log them.
   */
  readonly userData: Uint8Array;
  /** Tells in a few words what a creation that takes long waits for: the Machine's status shows it until the call ends. */
  readonly waitsFor?: (what: string) => void;
}

/** An address of a VM, of a type that Nodes know, such as `InternalIP`. */
export interface Address {
  readonly type: string;
  readonly address: string;
}

/** A VM as the cloud knows it. */
export interface Instance {
  readonly providerId: string;
  readonly nodeName: string;
  readonly addresses?: readonly Address[];
}

/** A VM that a look-up found. */
export interface FoundInstance extends Instance {
  /** When the cloud made it, RFC 3339, if the cloud says so: of several VMs the oldest is adopted. */
  readonly createdAt?: string;
  /**
   * Why it runs nothing and will not by itself, as a predicate such as `being deleted`. A machine without a VM waits for
   * its end and does not adopt it. A silent machine in a small cluster is replaced, as if its VM were gone.
   */
  readonly ending?: string;
}

/** A VM that was made, with what the driver wants to remember of it. */
export interface CreatedInstance extends Instance {
  /** Opaque provider state kept in `status.lastKnownState`. */
  readonly lastKnownState?: string;
}

/** A VM of a class's cluster, as `list` tells it. */
export interface ListedInstance {
  readonly providerId: string;
  readonly machineName: string;
  /** When the cloud made it, RFC 3339, if the cloud says so; young ones are never taken for orphans. */
  readonly createdAt?: string;
  /** The control cluster that made it, if the cloud says so (see `ownerOf`). */
  readonly owner?: string;
}

/** The part of a PersistentVolume's spec that names a volume in a cloud. */
export interface VolumeSource {
  readonly csi?: { readonly driver: string; readonly volumeHandle: string };
  readonly [source: string]: unknown;
}

/**
 * One cloud. Every method is idempotent, may be repeated after a lost answer, and throws `MachineError`.
 * A method that a provider lacks is absent (`Unimplemented` on the wire). The VM's identity derives from the
 * Machine's UID, so that a repeated create finds the first VM.
 */
export interface Driver<Spec = unknown, Credentials = unknown> {
  readonly name: string;
  /**
   * Makes the VM of a machine, or finds the one made earlier.
   * @throws `ResourceExhausted` no quota or capacity; `InvalidArgument` the spec can never work; `Unavailable`, `DeadlineExceeded`, `Aborted`, `Unknown`: try again soon.
   */
  create(request: CreateRequest<Spec, Credentials>): Promise<CreatedInstance>;
  /** Settings that the cloud takes only after creation. Called again until it succeeds. */
  initialize?(request: MachineRequest<Spec, Credentials>): Promise<Instance>;
  /**
   * Looks the VM up. A machine without a provider id is looked up by its name, because another controller may have created
   * the VM without recording it. The machine controller calls this before the first `create`, and adopts such a VM. VMs of
   * another control cluster and VMs that have ended do not count, see `isOthers`.
   * @throws `NotFound` the cloud is sure that there is none; `Uninitialized` there is one but `initialize` has not succeeded; `OutOfRange` several match. The last two tell the VMs (`MachineError.found`).
   */
  status?(request: MachineRequest<Spec, Credentials>): Promise<FoundInstance>;
  /**
   * Deletes the VM with its NICs and disks and resolves once the cloud reports it gone (or already absent):
   * a kubelet still alive would register its Node again. May resolve late; rejects with `DeadlineExceeded` to be called again.
   */
  delete(request: MachineRequest<Spec, Credentials>): Promise<{ readonly lastKnownState?: string } | undefined>;
  /**
   * What the cloud can tell of a VM that failed to join or fell ill: its state and its console. Only looks. Secrets need
   * not be taken out; a console that is cut must begin at the beginning of a line. There is a quarter of a minute for it.
   */
  evidence?(request: MachineRequest<Spec, Credentials>): Promise<InstanceEvidence>;
  /** All VMs of the class's cluster and role, over all pages. */
  list?(request: DriverRequest<Spec, Credentials>): Promise<readonly ListedInstance[]>;
  /** The cloud's ids of volumes, in the same order; undefined for a volume of another kind. */
  volumeIds?(sources: readonly VolumeSource[]): readonly (string | undefined)[];
}
