import { type DrainMemory, NO_DRAIN_MEMORY } from '../../drain/model/observation.ts';
import type { KeptVm } from '../../evidence/kept-vms.ts';
import type { HealthWrites, Reported } from './damping.ts';

/** The progress of storing the evidence of a machine's failure. */
export interface EvidenceState {
  readonly failure: string;
  readonly since: Date;
  readonly settled: boolean;
}

/** The progress of keeping the VM of a failed machine. */
export interface KeepingState {
  readonly since: Date;
  readonly settled: boolean;
  readonly kept?: KeptVm | undefined;
}

/**
 * State of one machine in the memory of this process. A restart loses this state. The loss costs time, but never loses a
 * VM.
 */
export interface MachineMemory {
  drain: DrainMemory;
  /** UID of the Node that was deleted. An outdated cache may still contain this Node, and mcm must not use it again. */
  releasedNode?: string;
  /** Resource version of the machine after mcm removed its finalizer. An outdated cache may still contain the machine. */
  finishedVersion?: string;
  /** True if the machine's Node was deleted while this process was watching. */
  nodeVanished?: boolean;
  /** Recent status writes about the machine's health. */
  healthWrites?: HealthWrites;
  /** The last report about the deletion of the machine. */
  reported?: Reported;
  /** The progress of storing the evidence of its failure. */
  evidence?: EvidenceState;
  /** The progress of keeping its VM. */
  keeping?: KeepingState;
  /** The last report about ineffective settings of the machine, see `validationWarningsOf`. */
  warned?: string;
  /** The reason of the last action, as written to the log. */
  decided?: string;
  /** True if an event has reported that the circuit breaker prevents the replacement. */
  held?: boolean;
}

/** The memory of machines, by UID. */
export class MachineMemories {
  readonly #byUid = new Map<string, MachineMemory>();

  of(uid: string): MachineMemory {
    const known = this.#byUid.get(uid);
    if (known) return known;
    const fresh: MachineMemory = { drain: NO_DRAIN_MEMORY };
    this.#byUid.set(uid, fresh);
    return fresh;
  }

  /** Forgets all machines. After a restore of the API server, the machines may have changed. */
  startOver(): void {
    this.#byUid.clear();
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}
