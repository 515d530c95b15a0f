import { backoffMs, type Random } from '@mcm/kube';
import type { NodeDaemon } from './daemon.ts';

/** The lifetime of a daemon. All work and all timers of the daemon end with the machine or the process. */
export interface DaemonLife {
  readonly signal: AbortSignal;
  run(work: () => Promise<void>): void;
  after(ms: number, work: () => void): { cancel(): void };
}

const RETRY = { baseMs: 1_000, maxMs: 30_000, jitter: 0.2 };

/** Runs the daemon after each change. Only one run of the daemon is in progress at a time. */
export class DaemonDriver {
  readonly #daemon: NodeDaemon;
  readonly #life: DaemonLife;
  readonly #random: Random;
  readonly #onError: (error: unknown) => void;
  #busy = false;
  #again = false;
  #failures = 0;
  #timer: { cancel(): void } | undefined;

  constructor(daemon: NodeDaemon, life: DaemonLife, random: Random, onError: (error: unknown) => void) {
    this.#daemon = daemon;
    this.#life = life;
    this.#random = random;
    this.#onError = onError;
  }

  consider(): void {
    this.#again = true;
    if (this.#busy) return;
    this.#busy = true;
    this.#timer?.cancel();
    this.#life.run(async () => {
      let wait: number | undefined;
      try {
        while (this.#again) {
          this.#again = false;
          wait = await this.#look();
        }
      } finally {
        this.#busy = false;
      }
      if (wait !== undefined) this.#timer = this.#life.after(wait, () => this.consider());
    });
  }

  async #look(): Promise<number | undefined> {
    try {
      const wait = await this.#daemon.look(this.#life.signal);
      this.#failures = 0;
      return wait;
    } catch (error) {
      if (this.#life.signal.aborted) throw error;
      this.#failures += 1;
      this.#onError(error);
      return backoffMs(RETRY, this.#failures, this.#random);
    }
  }
}
