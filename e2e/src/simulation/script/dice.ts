import { type Random, seededRandom } from '@mcm/kube';

export class Dice {
  readonly #seed: number;
  #random: Random;
  #drawn = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
  }

  get drawn(): number {
    return this.#drawn;
  }

  seek(drawn: number): void {
    this.#random = seededRandom(this.#seed);
    for (this.#drawn = 0; this.#drawn < drawn; ) this.#next();
  }

  #next(): number {
    this.#drawn += 1;
    return this.#random.next();
  }

  number(below: number): number {
    return Math.floor(this.#next() * below);
  }

  one<T>(items: readonly T[]): T | undefined {
    return items[this.number(items.length)];
  }

  pause(mostMs: number): number {
    return Math.floor(mostMs * this.#next() ** 3);
  }
}
