import type { Delta } from '@mcm/dashboard';

type Row = { readonly key: string };

export class Table<T extends Row> {
  readonly rows = new Map<string, T>();
  readonly #put = new Map<string, T>();
  readonly #drop = new Set<string>();

  put(row: T): boolean {
    const before = this.rows.get(row.key);
    if (before !== undefined && isSame(before, row)) return false;
    this.rows.set(row.key, row);
    this.#put.set(row.key, row);
    this.#drop.delete(row.key);
    return true;
  }

  drop(key: string): void {
    if (!this.rows.delete(key)) return;
    this.#put.delete(key);
    this.#drop.add(key);
  }

  replace(rows: readonly T[]): void {
    const kept = new Set(rows.map(({ key }) => key));
    for (const key of [...this.rows.keys()]) if (!kept.has(key)) this.drop(key);
    for (const row of rows) this.put(row);
  }

  /** Returns the changes since the previous call. */
  take(): Delta<T> | undefined {
    if (this.#put.size === 0 && this.#drop.size === 0) return undefined;
    const delta = {
      put: this.#put.size > 0 ? [...this.#put.values()] : undefined,
      drop: this.#drop.size > 0 ? [...this.#drop] : undefined,
    };
    this.#put.clear();
    this.#drop.clear();
    return delta;
  }
}

/**
 * Returns true if the fields of two rows are equal. All arrays in rows contain strings, so their items can be compared
 * directly.
 */
function isSame(a: Row, b: Row): boolean {
  const other = b as Readonly<Record<string, unknown>>;
  return Object.entries(a).every(([name, value]) =>
    Array.isArray(value) ? isSameList(value, other[name]) : Object.is(value, other[name]),
  );
}

const isSameList = (a: readonly unknown[], b: unknown): boolean =>
  Array.isArray(b) && a.length === b.length && a.every((text, index) => text === b[index]);
