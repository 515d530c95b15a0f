export interface Scheduled<V> {
  readonly at: number;
  readonly order: number;
  readonly value: V;
  live: boolean;
}

const before = (a: Scheduled<unknown>, b: Scheduled<unknown>): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order);

/** A priority queue of values, sorted by the time in milliseconds at which they are due. */
export class Schedule<V> {
  #heap: Scheduled<V>[] = [];
  #order = 0;
  #cancelled = 0;

  get size(): number {
    return this.#heap.length - this.#cancelled;
  }

  add(at: number, value: V): Scheduled<V> {
    const entry: Scheduled<V> = { at, order: this.#order++, value, live: true };
    this.#heap.push(entry);
    this.#rise(this.#heap.length - 1);
    return entry;
  }

  /** Cancels an entry, or has no effect if the entry was already popped. */
  cancel(entry: Scheduled<V>): void {
    if (!entry.live) return;
    entry.live = false;
    this.#cancelled++;
    if (this.#cancelled > 64 && this.#cancelled * 2 > this.#heap.length) this.#compact();
  }

  peek(): Scheduled<V> | undefined {
    for (;;) {
      const top = this.#heap[0];
      if (top === undefined || top.live) return top;
      this.#removeTop();
      this.#cancelled--;
    }
  }

  pop(): Scheduled<V> | undefined {
    const top = this.peek();
    if (top === undefined) return undefined;
    this.#removeTop();
    top.live = false;
    return top;
  }

  #compact(): void {
    this.#heap = this.#heap.filter((entry) => entry.live).sort((a, b) => a.at - b.at || a.order - b.order);
    this.#cancelled = 0;
  }

  #removeTop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink();
  }

  #rise(from: number): void {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfBefore(index, parent)) return;
      index = parent;
    }
  }

  #sink(): void {
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      const a = this.#heap[left];
      const b = this.#heap[right];
      if (a === undefined) return;
      const child = b !== undefined && before(b, a) ? right : left;
      if (!this.#swapIfBefore(child, index)) return;
      index = child;
    }
  }

  #swapIfBefore(lower: number, upper: number): boolean {
    const a = this.#heap[lower];
    const b = this.#heap[upper];
    if (a === undefined || b === undefined || !before(a, b)) return false;
    this.#heap[lower] = b;
    this.#heap[upper] = a;
    return true;
  }
}
