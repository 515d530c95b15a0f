import { type Clock, sleep } from '@mcm/kube';

const ANSWER_GRACE_MS = 5_000;

/** The error that ends a wait when the machine is powered off. */
class LifeEnded extends Error {
  override readonly name = 'LifeEnded';
}

/**
 * Runs the functions of a machine until its power-off. When `end` resolves, no request of the machine is in progress.
 */
export class Life {
  readonly #clock: Clock;
  readonly #waits = new AbortController();
  readonly #requests = new AbortController();
  readonly #working = new Set<Promise<void>>();
  readonly #onFailure: (error: unknown) => void;

  constructor(clock: Clock, onFailure: (error: unknown) => void) {
    this.#clock = clock;
    this.#onFailure = onFailure;
  }

  get over(): boolean {
    return this.#waits.signal.aborted;
  }

  get signal(): AbortSignal {
    return this.#requests.signal;
  }

  /** The signal that aborts waits at the power-off. */
  get ending(): AbortSignal {
    return this.#waits.signal;
  }

  run(work: () => Promise<void>): void {
    if (this.over) return;
    const task = work()
      .catch((error: unknown) => {
        if (!this.over && !(error instanceof LifeEnded)) this.#onFailure(error);
      })
      .finally(() => this.#working.delete(task));
    this.#working.add(task);
  }

  /** @throws {LifeEnded} if the machine is powered off during the pause */
  async pause(ms: number): Promise<void> {
    await sleep(this.#clock, ms, this.ending);
  }

  /** Calls a function after a delay. */
  after(ms: number, work: () => void): { cancel(): void } {
    const timer = this.#clock.setTimeout(() => {
      if (!this.over) work();
    }, ms);
    return timer;
  }

  /** Resolves when all functions of the machine have ended. */
  async end(): Promise<void> {
    if (!this.over) this.#waits.abort(new LifeEnded('the machine has no power'));
    const timer = this.#clock.setTimeout(
      () => this.#requests.abort(new LifeEnded('the machine has no power')),
      ANSWER_GRACE_MS,
    );
    while (this.#working.size > 0) await Promise.all(this.#working);
    timer.cancel();
  }
}
