const HOUR_MS = 3_600_000;

/** Lets so many different things through within an hour; one that was let through may come again for free. */
export class HourlyCap {
  readonly #most: number;
  readonly #admitted = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether the thing may pass now. */
  admits(id: string, now: Date): boolean {
    for (const [other, at] of this.#admitted) if (now.getTime() - at >= HOUR_MS) this.#admitted.delete(other);
    if (this.#admitted.has(id)) return true;
    if (this.#admitted.size >= this.#most) return false;
    this.#admitted.set(id, now.getTime());
    return true;
  }
}
