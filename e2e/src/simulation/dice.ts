import { type Random, seededRandom } from '@mcm/kube';

/** Draws from a seeded source. */
export class Dice {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** From 0 to `below` - 1. */
  number(below: number): number {
    return Math.floor(this.#random.next() * below);
  }

  one<T>(items: readonly T[]): T | undefined {
    return items[this.number(items.length)];
  }

  /** Mostly short, at times long. */
  pause(mostMs: number): number {
    return Math.floor(mostMs * this.#random.next() ** 3);
  }
}
