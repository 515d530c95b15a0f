import type { Key } from '@mcm/kube';

const NO_KEYS: readonly Key[] = [];

/** Stores the objects that wait for each cause, in the order of their arrival. */
export class WaitingLists {
  readonly #waiting = new Map<string, Set<Key>>();
  readonly #causes = new Map<Key, readonly string[]>();

  set(key: Key, causes: readonly string[]): void {
    const before = this.#causes.get(key) ?? NO_KEYS;
    if (before.length === 0 && causes.length === 0) return;
    for (const cause of before) {
      if (causes.includes(cause)) continue;
      const waiting = this.#waiting.get(cause);
      waiting?.delete(key);
      if (waiting?.size === 0) this.#waiting.delete(cause);
    }
    for (const cause of causes) this.#waiting.set(cause, (this.#waiting.get(cause) ?? new Set()).add(key));
    if (causes.length > 0) this.#causes.set(key, [...new Set(causes)]);
    else this.#causes.delete(key);
  }

  waitingFor(cause: string): readonly Key[] {
    return [...(this.#waiting.get(cause) ?? NO_KEYS)];
  }

  /**
   * Returns the first keys of the list, and moves these keys to the end. A key that cannot continue therefore does not
   * block other keys.
   */
  takeTurns(cause: string, count: number): readonly Key[] {
    const waiting = this.#waiting.get(cause);
    if (!waiting || count <= 0) return NO_KEYS;
    const first = [...waiting].slice(0, count);
    for (const key of first) {
      waiting.delete(key);
      waiting.add(key);
    }
    return first;
  }
}
