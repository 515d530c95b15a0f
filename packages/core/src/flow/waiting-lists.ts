import type { Key } from '@mcm/kube';

const NO_KEYS: readonly Key[] = [];

/** Who waits for what, in the order in which they began to. */
export class WaitingLists {
  readonly #waiting = new Map<string, Set<Key>>();
  readonly #causes = new Map<Key, readonly string[]>();

  /** `key` waits for these causes now, and for no others. */
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

  /** All that wait for a cause. */
  waitingFor(cause: string): readonly Key[] {
    return [...(this.#waiting.get(cause) ?? NO_KEYS)];
  }

  /** The first `count` of them, who go to the end of the line: one that cannot use its turn must not keep the others from theirs. */
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
