import { type Clock, sleep } from '@mcm/kube';

/** At power-off, open requests get this time for their answers. Then they are aborted. */
const ANSWER_GRACE_MS = 5_000;

/** Thrown by waits of a life that has ended; ends whatever was waiting. */
class LifeEnded extends Error {
  override readonly name = 'LifeEnded';
}

/**
 * The time between a machine's power-on and power-off. Work is started through it, so that its end is known: after `end`
 * no request of the machine is under way.
 */
export class Life {
  readonly #clock: Clock;
  readonly #waits = new AbortController();
  readonly #requests = new AbortController();
  readonly #working = new Set<Promise<void>>();
  readonly #onFailure: (error: unknown) => void;

  /** @param onFailure called for work that failed for another reason than the end of the life */
  constructor(clock: Clock, onFailure: (error: unknown) => void) {
    this.#clock = clock;
    this.#onFailure = onFailure;
  }

  get over(): boolean {
    return this.#waits.signal.aborted;
  }

  /** For requests: not aborted at the end itself, only when an answer takes too long after it. */
  get signal(): AbortSignal {
    return this.#requests.signal;
  }

  /** For waits: aborted at the end. */
  get ending(): AbortSignal {
    return this.#waits.signal;
  }

  /** Starts work, unless the life has ended. */
  run(work: () => Promise<void>): void {
    if (this.over) return;
    const task = work()
      .catch((error: unknown) => {
        if (!this.over && !(error instanceof LifeEnded)) this.#onFailure(error);
      })
      .finally(() => this.#working.delete(task));
    this.#working.add(task);
  }

  /** @throws {LifeEnded} when the life ends meanwhile */
  async pause(ms: number): Promise<void> {
    await sleep(this.#clock, ms, this.ending);
  }

  /** Calls back once, unless the life ends before. */
  after(ms: number, work: () => void): { cancel(): void } {
    const timer = this.#clock.setTimeout(() => {
      if (!this.over) work();
    }, ms);
    return timer;
  }

  /** Ends it; resolves when no work is left. */
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
