import { Annotations, isReadyPhase, type Machine, phaseOf } from '@mcm/api';
import type { Change, Clock } from '@mcm/kube';

/** The measurements of one or more histories. All measured times are in milliseconds. */
export interface Figures {
  readonly readyMs: readonly number[];
  /** The number of machines that were deleted before they were Running. */
  readonly neverReady: number;
  readonly rollMs: readonly number[];
  readonly maxUnavailable: number;
}

/** Measures the machines of a history. */
export class Measurements {
  readonly rollMs: number[] = [];
  readonly #clock: Clock;
  readonly #deploymentOf: (machine: Machine) => string | undefined;
  readonly #appeared = new Map<string, number>();
  readonly #readyMs = new Map<string, number>();
  readonly #machines = new Map<string, Machine>();
  /** For each deployment that was complete, the number of machines that should be available. */
  readonly #floors = new Map<string, number>();
  #neverReady = 0;
  #maxUnavailable = 0;

  constructor(clock: Clock, deploymentOf: (machine: Machine) => string | undefined) {
    this.#clock = clock;
    this.#deploymentOf = deploymentOf;
  }

  /** Records the size of a complete deployment. */
  complete(deployment: string, replicas: number): void {
    this.#floors.set(deployment, replicas);
  }

  /** After a scale-out, the additional machines do not count as unavailable until the deployment is complete. */
  resized(deployment: string, replicas: number): void {
    const floor = this.#floors.get(deployment);
    if (floor !== undefined) this.#floors.set(deployment, Math.min(floor, replicas));
  }

  readonly onChange = ({ type, object }: Change<Machine>): void => {
    const { uid, deletionTimestamp } = object.metadata;
    const now = this.#clock.monotonic();
    if (!this.#appeared.has(uid)) this.#appeared.set(uid, now);
    if (type === 'deleted') {
      this.#machines.delete(uid);
      if (!this.#readyMs.has(uid)) this.#neverReady += 1;
    } else {
      this.#machines.set(uid, object);
      const appearedAt = this.#appeared.get(uid) ?? now;
      if (phaseOf(object) === 'Running' && !deletionTimestamp && !this.#readyMs.has(uid))
        this.#readyMs.set(uid, now - appearedAt);
    }
    this.#count();
  };

  #count(): void {
    for (const [deployment, floor] of this.#floors) {
      const available = [...this.#machines.values()].filter(
        (machine) =>
          !machine.metadata.deletionTimestamp &&
          isReadyPhase(phaseOf(machine)) &&
          machine.metadata.annotations?.[Annotations.WarmState] === undefined &&
          this.#deploymentOf(machine) === deployment,
      ).length;
      this.#maxUnavailable = Math.max(this.#maxUnavailable, floor - available);
    }
  }

  get figures(): Figures {
    return {
      readyMs: [...this.#readyMs.values()],
      neverReady: this.#neverReady,
      rollMs: [...this.rollMs],
      maxUnavailable: this.#maxUnavailable,
    };
  }
}

/** Combines the measurements of several histories. */
export const combined = (all: readonly Figures[]): Figures => ({
  readyMs: all.flatMap(({ readyMs }) => readyMs),
  neverReady: all.reduce((sum, { neverReady }) => sum + neverReady, 0),
  rollMs: all.flatMap(({ rollMs }) => rollMs),
  maxUnavailable: Math.max(0, ...all.map(({ maxUnavailable }) => maxUnavailable)),
});

/** Returns a percentile of the values with the nearest-rank method. */
export function percentile(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}
