import type { MachineMemory } from './memory.ts';
import type { MachineObservation } from './observation.ts';

export interface Scope {
  readonly o: MachineObservation;
  readonly memory: MachineMemory;
  readonly now: Date;
  readonly signal: AbortSignal;
}
