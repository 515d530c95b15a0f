import type { Transport } from '@mcm/kube';
import type { Faults } from '../faults/faults.ts';

/** One thing that an account would be billed for. */
export interface ListedResource {
  /** `instance`, `volume`, `networkInterface`, `disk`. */
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  /** The state in the terms of the cloud: `running`, `Succeeded`. */
  readonly state: string;
}

/** A cloud on the loopback address: its API and its resources. */
export interface Emulator {
  /** Answers the cloud's API. */
  readonly transport: Transport;
  readonly faults: Faults;
  /** All existing resources in the order of their creation, without terminated instances. */
  resources(): readonly ListedResource[];
  /** Requests since the start, by operation. */
  readonly counts: ReadonlyMap<string, number>;
  /** Powers on the VMs that were running when the last process ended. */
  resume(): void;
}
