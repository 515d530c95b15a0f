import type { MachineMemory } from './memory.ts';
import type { MachineObservation } from './observation.ts';

/** The input of an action. */
export interface Scope {
  readonly o: MachineObservation;
  readonly memory: MachineMemory;
  readonly now: Date;
  readonly signal: AbortSignal;
}
