import { type Equality, fieldOf } from './record-index.ts';
import type { StoredRecord, StoreEvent, StoreListener } from './store.ts';

/** Namespace and name in one, for those who follow one object. */
const KEY = 'key';

const read = (record: StoredRecord, field: string): string =>
  field === KEY ? `${record.namespace}/${record.name}` : fieldOf(record, field);

/** The one question by which a listener is found: the most telling of what it asks. */
function pinOf(where: readonly Equality[]): Equality | undefined {
  const asked = (field: string): Equality | undefined => where.find((one) => one.field === field);
  const name = asked('metadata.name');
  const namespace = asked('metadata.namespace');
  if (name !== undefined && namespace !== undefined) return { field: KEY, value: `${namespace.value}/${name.value}` };
  return name ?? where.find(({ field }) => field !== 'metadata.namespace') ?? namespace;
}

/**
 * Who listens to a resource, found by what they ask: an event costs as much as there are listeners that may care, not as there
 * are listeners. A change reaches those that its new state concerns and those that its previous one did.
 */
export class Listeners {
  readonly #all = new Set<StoreListener>();
  readonly #pinned = new Map<string, Map<string, Set<StoreListener>>>();

  /** Without equalities a listener hears everything. Returns the way out. */
  add(listener: StoreListener, where: readonly Equality[]): () => void {
    const pin = pinOf(where);
    if (pin === undefined) {
      this.#all.add(listener);
      return () => this.#all.delete(listener);
    }
    const { field, value } = pin;
    const values = this.#pinned.get(field) ?? new Map<string, Set<StoreListener>>();
    this.#pinned.set(field, values);
    const listeners = values.get(value) ?? new Set<StoreListener>();
    values.set(value, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && values.get(value) === listeners) values.delete(value);
      if (values.size === 0 && this.#pinned.get(field) === values) this.#pinned.delete(field);
    };
  }

  deliver(event: StoreEvent): void {
    for (const listener of [...this.#all]) listener(event);
    const { record, previous } = event;
    for (const [field, values] of [...this.#pinned]) {
      const value = read(record, field);
      const before = previous === undefined ? value : read(previous, field);
      for (const listener of [...(values.get(value) ?? [])]) listener(event);
      if (before !== value) for (const listener of [...(values.get(before) ?? [])]) listener(event);
    }
  }

  clear(): void {
    this.#all.clear();
    this.#pinned.clear();
  }
}
