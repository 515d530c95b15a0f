import { type Random, seededRandom } from '@mcm/kube';

/** Draws from a seeded source. */
export class Dice {
  readonly #seed: number;
  #random: Random;
  #drawn = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
  }

  /** How many numbers were drawn so far. */
  get drawn(): number {
    return this.#drawn;
  }

  /** The next number is the one that follows the first `drawn` ones. */
  seek(drawn: number): void {
    this.#random = seededRandom(this.#seed);
    for (this.#drawn = 0; this.#drawn < drawn; ) this.#next();
  }

  #next(): number {
    this.#drawn += 1;
    return this.#random.next();
  }

  /** From 0 to `below` - 1. */
  number(below: number): number {
    return Math.floor(this.#next() * below);
  }

  one<T>(items: readonly T[]): T | undefined {
    return items[this.number(items.length)];
  }

  /** Mostly short, at times long. */
  pause(mostMs: number): number {
    return Math.floor(mostMs * this.#next() ** 3);
  }
}
