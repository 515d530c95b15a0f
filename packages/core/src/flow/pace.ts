/**
 * Limits the frequency of status writes. If a hundred machines become ready one after the other, mcm writes the status
 * only a few times. mcm always writes the last state, because a delayed caller reconciles again later.
 */
export class Pace {
  readonly #intervalMs: number;
  readonly #lastMs = new Map<string, number>();

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  waitMs(key: string, now: Date): number {
    const last = this.#lastMs.get(key);
    return last === undefined ? 0 : Math.max(last + this.#intervalMs - now.getTime(), 0);
  }

  wrote(key: string, now: Date): void {
    this.#lastMs.set(key, now.getTime());
  }

  forget(key: string): void {
    this.#lastMs.delete(key);
  }
}
