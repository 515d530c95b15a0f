import { type DrainMemory, NO_DRAIN_MEMORY } from '../../drain/model/observation.ts';
import type { KeptVm } from '../../evidence/kept-vms.ts';
import type { HealthWrites, Reported } from './damping.ts';

export interface EvidenceState {
  readonly failure: string;
  readonly since: Date;
  readonly settled: boolean;
}

export interface KeepingState {
  readonly since: Date;
  readonly settled: boolean;
  readonly kept?: KeptVm | undefined;
}

/**
 * A restart loses the state of a machine in the memory of this process. The loss of the state delays the machine, but
 * loses no VM.
 */
export interface MachineMemory {
  drain: DrainMemory;
  /** The UID of the Node that mcm deleted and must not use again. An outdated cache may still contain this Node. */
  releasedNode?: string;
  /**
   * The resource version of the machine after the removal of its finalizer. An outdated cache may still contain the
   * machine without its finalizer.
   */
  finishedVersion?: string;
  /** Whether the Node of the machine was deleted while this process was watching Nodes. */
  nodeVanished?: boolean;
  healthWrites?: HealthWrites;
  reported?: Reported;
  evidence?: EvidenceState;
  keeping?: KeepingState;
  warned?: string;
  drift?: string;
  /** The reason of the last action in the log. */
  decided?: string;
  held?: boolean;
  /** The Node that the API server did not have at the time of a request. */
  missingNode?: { readonly uid: string; readonly at: Date };
  /** The time since which the class or a Secret of the machine lacks the finalizer of mcm. */
  unprotectedSince?: Date;
  /** `inputsRead` is true if the API server has the class and the Secrets, or if the process may not read them. */
  inputsRead?: boolean;
}

export class MachineMemories {
  readonly #byUid = new Map<string, MachineMemory>();

  of(uid: string): MachineMemory {
    const known = this.#byUid.get(uid);
    if (known) return known;
    const fresh: MachineMemory = { drain: NO_DRAIN_MEMORY };
    this.#byUid.set(uid, fresh);
    return fresh;
  }

  startOver(): void {
    this.#byUid.clear();
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}
