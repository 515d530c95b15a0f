import { type DrainMemory, NO_DRAIN_MEMORY } from '../../drain/model/observation.ts';
import type { KeptVm } from '../../evidence/kept-vms.ts';
import type { HealthWrites } from './damping.ts';

/** What is being done about the evidence of a machine's failure. */
export interface EvidenceState {
  readonly failure: string;
  readonly since: Date;
  readonly settled: boolean;
}

/** What is being done to keep the VM of a failed machine. */
export interface KeepingState {
  readonly since: Date;
  readonly settled: boolean;
  readonly kept?: KeptVm;
}

/** What this process keeps of one machine between reconciles. Losing it costs time, never a VM. */
export interface MachineMemory {
  drain: DrainMemory;
  /** UID of the Node that was deleted, so that a cache that has not heard of it yet does not bring it back. */
  releasedNode?: string;
  /** The version of the machine from which our finalizer was taken off: its last. */
  finishedVersion?: string;
  /** A Node of the machine vanished while we watched. */
  nodeVanished?: boolean;
  /** What was written of its health lately. */
  healthWrites?: HealthWrites;
  /** What is being done about the evidence of its failure. */
  evidence?: EvidenceState;
  /** What is being done to keep its VM. */
  keeping?: KeepingState;
  /** What was last told of its rubbish, see `complaintsOf`. */
  complained?: string;
  /** Why something was done about it last, as the log says it. */
  decided?: string;
  /** Somebody was told that the breaker holds it back. */
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

  /** Forgets all machines: they may not be what they were. */
  startOver(): void {
    this.#byUid.clear();
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}
