import type { StoreEvent } from './store.ts';

/** A list of changes. New changes are added at the end, and the oldest changes are removed from the start. */
export class ChangeLog {
  #events: StoreEvent[] = [];
  #start = 0;

  get size(): number {
    return this.#events.length - this.#start;
  }

  get oldest(): StoreEvent | undefined {
    return this.#events[this.#start];
  }

  get newest(): StoreEvent | undefined {
    return this.size === 0 ? undefined : this.#events.at(-1);
  }

  push(event: StoreEvent): void {
    this.#events.push(event);
  }

  dropNewest(): void {
    if (this.size > 0) this.#events.pop();
  }

  dropOldest(): void {
    if (this.size === 0) return;
    this.#start++;
    // Removed changes stay in the array for a while, because each removal from the start of an array is slow.
    if (this.#start > 16 && this.#start * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#start);
      this.#start = 0;
    }
  }

  firstAfter(revision: number): StoreEvent | undefined {
    return this.#events[this.#indexAfter(revision)];
  }

  after(revision: number): readonly StoreEvent[] {
    return this.#events.slice(this.#indexAfter(revision));
  }

  #indexAfter(revision: number): number {
    let low = this.#start;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
