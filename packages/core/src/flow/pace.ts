/**
 * Spaces the writes of one object's status, so that a hundred machines that become ready one after the other cost a
 * few writes and not a hundred. The last state is always written: who must wait looks again.
 */
export class Pace {
  readonly #intervalMs: number;
  readonly #lastMs = new Map<string, number>();

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Milliseconds until the object may be written again; 0: now. */
  waitMs(key: string, now: Date): number {
    const last = this.#lastMs.get(key);
    return last === undefined ? 0 : Math.max(last + this.#intervalMs - now.getTime(), 0);
  }

  /** Notes a write. */
  wrote(key: string, now: Date): void {
    this.#lastMs.set(key, now.getTime());
  }

  forget(key: string): void {
    this.#lastMs.delete(key);
  }
}
