import type { StoreEvent } from './store.ts';

/** How far back changes stay known. */
export interface HistoryLimits {
  /** Milliseconds. */
  readonly maxAgeMs: number;
  /** Changes of one resource, however young. */
  readonly maxEvents: number;
}

/** The latest changes of one resource, oldest first. Old ones are forgotten as new ones come, without a timer. */
export class History {
  readonly #limits: HistoryLimits;
  #events: StoreEvent[] = [];
  #start = 0;
  #compacted: number;

  /** `compacted`: the revision up to which nothing is known. */
  constructor(limits: HistoryLimits, compacted: number) {
    this.#limits = limits;
    this.#compacted = compacted;
  }

  /** Changes after this revision are all known. */
  get compactedRevision(): number {
    return this.#compacted;
  }

  add(event: StoreEvent): void {
    this.#events.push(event);
    this.#forget(event.time - this.#limits.maxAgeMs);
  }

  /** Forgets the changes from this revision on: they have not happened. */
  takeBack(revision: number): void {
    while (this.#events.length > this.#start && (this.#events.at(-1)?.revision ?? 0) >= revision) this.#events.pop();
  }

  since(revision: number): readonly StoreEvent[] | undefined {
    if (revision < this.#compacted) return undefined;
    let low = this.#start;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#events.slice(low);
  }

  #forget(before: number): void {
    for (;;) {
      const oldest = this.#events[this.#start];
      if (oldest === undefined) break;
      const tooMany = this.#events.length - this.#start > this.#limits.maxEvents;
      if (!tooMany && oldest.time >= before) break;
      this.#compacted = oldest.revision;
      this.#start++;
    }
    // Give the front of the array back only now and then, so that forgetting stays cheap.
    if (this.#start > 1024 && this.#start * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#start);
      this.#start = 0;
    }
  }
}
