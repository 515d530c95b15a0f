import type { Clock, Timer } from '../../apimachinery/objects/clock.ts';

/**
 * A queue that releases names at a limited rate. After a pause, the queue releases the first name immediately.
 * @see kubernetes pkg/controller/nodelifecycle/scheduler
 */
export class PacedQueue {
  readonly #clock: Clock;
  readonly #next: (name: string) => void;
  readonly #waiting = new Set<string>();
  #rate: number;
  #freeAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(clock: Clock, rate: number, next: (name: string) => void) {
    this.#clock = clock;
    this.#rate = rate;
    this.#next = next;
  }

  add(name: string): void {
    this.#waiting.add(name);
  }

  remove(name: string): void {
    this.#waiting.delete(name);
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Changes the rate of the queue. */
  setRate(rate: number): void {
    if (rate === this.#rate) return;
    const now = this.#clock.now().getTime();
    const wasFree = this.#rate > 0 && this.#freeAt <= now;
    this.#rate = rate;
    this.#freeAt = wasFree || rate <= 0 ? Number.NEGATIVE_INFINITY : now + 1000 / rate;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  run(): void {
    if (this.#timer !== undefined || this.#rate <= 0) return;
    for (const name of this.#waiting) {
      const now = this.#clock.now().getTime();
      if (this.#freeAt > now) {
        this.#timer = this.#clock.setTimeout(() => {
          this.#timer = undefined;
          this.run();
        }, this.#freeAt - now);
        return;
      }
      this.#freeAt = now + 1000 / this.#rate;
      this.#waiting.delete(name);
      this.#next(name);
    }
  }

  stop(): void {
    this.#timer?.cancel();
    this.#waiting.clear();
  }
}
