import type { Clock } from '../clock/clock.ts';

/** Stands before acts that must not happen once another process may lead: a request to a cloud cannot be taken back. */
export interface Fence {
  /**
   * Resolves when nobody else can lead now. Costs nothing while the last renewal is young; otherwise, as after the
   * process was paused, the Lease is renewed first. Rejects when another has taken it, or that cannot be told, and as
   * soon as the work is to end.
   */
  confirm(): Promise<void>;
  /** The same for the last steps of what was begun: the Lease is held until the work has ended. */
  held(): Promise<void>;
}

/** How long ago something was, by the clock that shows more: a machine that was suspended may have stood still in one. */
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
