/** Stores the state of an emulator for the next process. */
export interface EmulatorStore {
  load(): Iterable<{ readonly kind: string; readonly id: string; readonly body: unknown }>;
  put(kind: string, id: string, body: object): void;
  remove(kind: string, id: string): void;
}

/** Stored objects of the emulator. After a change of an object, the caller must call `put`. */
export class Kept<T extends object> {
  readonly #kind: string;
  readonly #store: EmulatorStore | undefined;
  readonly #all = new Map<string, T>();

  /** @param store The store of the emulator. If `store` is undefined, nothing is stored. */
  constructor(kind: string, store: EmulatorStore | undefined) {
    this.#kind = kind;
    this.#store = store;
    for (const row of store?.load() ?? []) if (row.kind === kind) this.#all.set(row.id, row.body as T);
  }

  get size(): number {
    return this.#all.size;
  }

  get(id: string): T | undefined {
    return this.#all.get(id);
  }

  has(id: string): boolean {
    return this.#all.has(id);
  }

  put(id: string, value: T): void {
    this.#all.set(id, value);
    this.#store?.put(this.#kind, id, value);
  }

  delete(id: string): void {
    if (this.#all.delete(id)) this.#store?.remove(this.#kind, id);
  }

  keys(): readonly string[] {
    return [...this.#all.keys()];
  }

  values(): readonly T[] {
    return [...this.#all.values()];
  }
}
