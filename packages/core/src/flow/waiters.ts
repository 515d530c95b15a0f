import type { Key } from '@mcm/kube';

/** Stores the topic for which each object waits. An object waits for at most one topic. */
export class Waiters {
  readonly #keys = new Map<string, Set<Key>>();
  readonly #topicOf = new Map<Key, string>();

  put(key: Key, topic: string | undefined): void {
    this.forget(key);
    if (topic === undefined) return;
    this.#topicOf.set(key, topic);
    this.#keys.set(topic, (this.#keys.get(topic) ?? new Set()).add(key));
  }

  forget(key: Key): void {
    const topic = this.#topicOf.get(key);
    if (topic === undefined) return;
    this.#topicOf.delete(key);
    const keys = this.#keys.get(topic);
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(topic);
  }

  of(topic: string | undefined): readonly Key[] {
    return topic === undefined ? [] : [...(this.#keys.get(topic) ?? [])];
  }
}
