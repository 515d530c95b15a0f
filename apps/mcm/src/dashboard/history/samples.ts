export type Sample = readonly [at: number, ...values: number[]];

/**
 * A series of samples with a maximum length. When the series is full, every second sample of the older half is dropped.
 */
export class Samples {
  #all: Sample[] = [];
  readonly #most: number;
  readonly #apartMs: number;

  constructor(most: number, apartMs: number) {
    this.#most = most;
    this.#apartMs = apartMs;
  }

  get all(): readonly Sample[] {
    return this.#all;
  }

  add(sample: Sample): void {
    const last = this.#all.at(-1);
    if (last !== undefined && String(last.slice(1)) === String(sample.slice(1))) return;
    const [at] = sample;
    if (last !== undefined && this.#all.length > 1 && at - last[0] < this.#apartMs) {
      this.#all[this.#all.length - 1] = [last[0], ...sample.slice(1)];
    } else this.#all.push(sample);
    if (this.#all.length <= this.#most) return;
    const half = this.#all.length / 2;
    this.#all = this.#all.filter((_, index) => index > half || index % 2 === 0);
  }

  /** The last sample before the time `before` stays, because it contains the value at that time. */
  expire(before: number): void {
    const first = this.#all.findIndex(([at]) => at >= before);
    if (first > 1) this.#all = this.#all.slice(first - 1);
  }
}
