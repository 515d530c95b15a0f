import type { MachineMemory } from './memory.ts';
import type { MachineObservation } from './observation.ts';

/** What an action is carried out on. */
export interface Scope {
  readonly o: MachineObservation;
  readonly memory: MachineMemory;
  readonly now: Date;
  readonly signal: AbortSignal;
}
