import type { Clock } from '../clock/clock.ts';

/** Checks the leadership before irreversible actions, for example a request to a cloud. */
export interface Fence {
  /**
   * Resolves when no other process can be the leader now.
   * - After a recent renewal it sends nothing. Otherwise, for example after a suspension of the process, it renews the Lease first.
   * - Rejects when another process has taken the Lease, when that cannot be determined, and as soon as the work has to end.
   */
  confirm(): Promise<void>;
  /** As `confirm`, for the last steps after the work has to end: the Lease is held until they are done. */
  held(): Promise<void>;
}

/** Elapsed time on two clocks, of which the larger one counts: one of the clocks may stop while the machine is suspended. */
export class Age {
  readonly #clock: Clock;
  readonly #monotonic: number;
  readonly #timeOfDay: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#monotonic = clock.monotonic();
    this.#timeOfDay = clock.now().getTime();
  }

  /** Milliseconds. */
  get ms(): number {
    return Math.max(this.#clock.monotonic() - this.#monotonic, this.#clock.now().getTime() - this.#timeOfDay);
  }
}
