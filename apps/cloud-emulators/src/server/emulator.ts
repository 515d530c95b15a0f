import type { Transport } from '@mcm/kube';
import type { Faults } from '../faults/faults.ts';

/** One thing that an account would be billed for. */
export interface ListedResource {
  /** `instance`, `volume`, `networkInterface`, `disk`. */
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  /** As the cloud calls it: `running`, `Succeeded`. */
  readonly state: string;
}

/** A cloud on the loopback address: what its API answers, and what is in it. */
export interface Emulator {
  /** Answers the cloud's API. */
  readonly transport: Transport;
  readonly faults: Faults;
  /** Everything that is there, in the order in which it was made; what is terminated is not there. */
  resources(): readonly ListedResource[];
  /** Requests since the start, by operation. */
  readonly counts: ReadonlyMap<string, number>;
  /** Powers on what was running when the last process ended. */
  resume(): void;
}
