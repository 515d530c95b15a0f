import type { ApiObject } from '../object.ts';
import type { Registry } from '../registry/registry.ts';

/** What is made of the objects of a cluster-scoped resource, kept as they change, in the order of their names. */
export class Collection<T> {
  readonly #items = new Map<string, T>();
  #ordered: readonly T[] = [];
  readonly #listeners: (() => void)[] = [];

  /**
   * @param delayMs how long after a change the collection shows it; the real server reads its policies anew in the background, so that they
   *   hold a moment after they were written
   */
  constructor({ store, clock }: Registry, resource: string, make: (object: ApiObject) => T, delayMs = 0) {
    const put = ({ name, json }: { name: string; json: string }) =>
      this.#items.set(name, make(JSON.parse(json) as ApiObject));
    for (const record of store.list(resource).records) put(record);
    this.#order();
    const refresh = (): void => {
      this.#order();
      for (const listener of this.#listeners) listener();
    };
    store.subscribe(resource, ({ type, record }) => {
      if (type === 'DELETED') this.#items.delete(record.name);
      else put(record);
      if (delayMs === 0) refresh();
      else clock.setTimeout(refresh, delayMs);
    });
  }

  /** All of them; the same list until something changes. */
  get all(): readonly T[] {
    return this.#ordered;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #order(): void {
    this.#ordered = [...this.#items].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
  }
}
