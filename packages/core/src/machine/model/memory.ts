import { type DrainMemory, NO_DRAIN_MEMORY } from '../../drain/model/observation.ts';
import type { KeptVm } from '../../evidence/kept-vms.ts';
import type { HealthWrites } from './damping.ts';

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

/** The state of one machine in the memory of this process between reconciles. A restart loses it, which costs time but never a VM. */
export interface MachineMemory {
  drain: DrainMemory;
  /** UID of the deleted Node. Without it, a stale cache would make mcm use that Node again. */
  releasedNode?: string;
  /** The last version of the machine, from which mcm removed its finalizer. A stale cache may still show it. */
  finishedVersion?: string;
  /** The machine's Node disappeared while this process watched. */
  nodeVanished?: boolean;
  /** Recent writes about the machine's health. */
  healthWrites?: HealthWrites;
  /** The progress of storing the evidence of its failure. */
  evidence?: EvidenceState;
  /** The progress of keeping its VM. */
  keeping?: KeepingState;
  /** The last report about its invalid settings, see `validationWarningsOf`. */
  warned?: string;
  /** The reason of the last action, as in the log. */
  decided?: string;
  /** An event has reported that the circuit breaker prevents the replacement. */
  held?: boolean;
}

/** Memory by UID of the machine. */
export class MachineMemories {
  readonly #byUid = new Map<string, MachineMemory>();

  of(uid: string): MachineMemory {
    const known = this.#byUid.get(uid);
    if (known) return known;
    const fresh: MachineMemory = { drain: NO_DRAIN_MEMORY };
    this.#byUid.set(uid, fresh);
    return fresh;
  }

  /** Forgets all machines, because they may have changed in the meantime. */
  startOver(): void {
    this.#byUid.clear();
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}
