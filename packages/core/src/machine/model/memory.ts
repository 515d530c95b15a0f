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
 * Facts about a machine that are stored only in the memory of the process. The loss of these facts after a restart may
 * delay the machine, but mcm never loses a VM.
 */
export interface MachineMemory {
  drain: DrainMemory;
  /** The UID of the Node that mcm deleted, and that an outdated cache may still contain. */
  releasedNode?: string;
  /**
   * The version of the machine from which mcm removed its finalizer. An outdated cache may still contain this version.
   */
  finishedVersion?: string;
  nodeVanished?: boolean;
  healthWrites?: HealthWrites;
  reported?: Reported;
  evidence?: EvidenceState;
  keeping?: KeepingState;
  warned?: string;
  drift?: string;
  decided?: string;
  held?: boolean;
  /** A Node that the cache contains, although the API server did not have the Node at the time of a request. */
  missingNode?: { readonly uid: string; readonly at: Date };
  unprotectedSince?: Date;
  /** True if the API server has the class and the Secrets, or if the process has no permission to read them. */
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
