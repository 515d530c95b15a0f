import type { ApiObject } from '../../apimachinery/objects/object.ts';

/** Returns the words under which the index finds an object. The words must depend only on the object. */
export type WordsOf = (object: ApiObject) => readonly string[];

const NONE: readonly string[] = [];

/**
 * Finds the keys of objects by words. The index contains no objects. If an update leaves the words of an object
 * unchanged, the index does not change.
 */
export class KeyIndex {
  readonly #of: WordsOf;
  readonly #keys = new Map<string, Set<string>>();

  constructor(of: WordsOf) {
    this.#of = of;
  }

  keys(word: string): Iterable<string> {
    return this.#keys.get(word) ?? NONE;
  }

  /** @param object undefined for a deleted object */
  set(key: string, object: ApiObject | undefined, old: ApiObject | undefined): void {
    const before = old === undefined ? NONE : this.#of(old);
    const after = object === undefined ? NONE : this.#of(object);
    if (before.length === after.length && before.every((word, at) => word === after[at])) return;
    for (const word of before) {
      const keys = this.#keys.get(word);
      keys?.delete(key);
      if (keys?.size === 0) this.#keys.delete(word);
    }
    for (const word of after) {
      const keys = this.#keys.get(word);
      if (keys === undefined) this.#keys.set(word, new Set([key]));
      else keys.add(key);
    }
  }
}
