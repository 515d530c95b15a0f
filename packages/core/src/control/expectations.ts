import type { Machine } from '@mcm/api';

/**
 * Counts create requests that the server has not answered, by the UID of the set. After a scale-down of the set, the
 * server still creates these machines. The deployment controller adds this count to the machines of the set, so that no
 * other set creates machines instead.
 */
export class CreationsUnderWay {
  readonly #counts = new Map<string, number>();

  of(setUid: string): number {
    return this.#counts.get(setUid) ?? 0;
  }

  async during<T>(setUid: string, work: () => Promise<T>): Promise<T> {
    this.#counts.set(setUid, this.of(setUid) + 1);
    try {
      return await work();
    } finally {
      const left = this.of(setUid) - 1;
      if (left > 0) this.#counts.set(setUid, left);
      else this.#counts.delete(setUid);
    }
  }
}

/** `asked`: the server confirmed the delete request. `unanswered`: the result of the delete request is unknown. */
export type DeletionState = 'asked' | 'unanswered';

const NO_DELETIONS: ReadonlyMap<string, DeletionState> = new Map();

/**
 * Deletions that the cache does not show yet.
 * - Until the watch shows the deletion timestamp, a second reconcile would count the machine, and could delete another
 *   one. Therefore this class keeps the UIDs of deleted machines until the watch shows their deletion.
 * - Creations need no entry. The response to a create request updates the cache at once. A request without a response
 *   is repeated with the same name (see machine-names.ts).
 * - The original counts expected events and forgets them after five minutes without verification (BUG-3). Entries of
 *   this class do not expire.
 */
export class PendingDeletions {
  readonly #uids = new Map<string, DeletionState>();
  /** The resource version of each machine at the decision to delete it. */
  readonly #versions = new Map<string, string>();
  readonly #shared: Set<string>;

  /** @param shared another set to which this object adds each UID, for decisions about several MachineSets */
  constructor(shared = new Set<string>()) {
    this.#shared = shared;
  }

  /** The delete request and its repetitions use this resource version as a precondition. */
  begin({ metadata: { uid, resourceVersion } }: Machine): void {
    if (!this.#versions.has(uid) && resourceVersion !== undefined) this.#versions.set(uid, resourceVersion);
    this.note(uid, 'unanswered');
  }

  /** Replaces the version after a write of this process to the machine. */
  wrote({ metadata: { uid, resourceVersion } }: Machine): void {
    if (resourceVersion !== undefined) this.#versions.set(uid, resourceVersion);
  }

  versionOf(uid: string): string | undefined {
    return this.#versions.get(uid);
  }

  note(uid: string, state: DeletionState): void {
    this.#uids.set(uid, state);
    this.#shared.add(uid);
  }

  /** Removes the entry after the server refused the deletion. */
  forget(uid: string): void {
    this.#uids.delete(uid);
    this.#versions.delete(uid);
    this.#shared.delete(uid);
  }

  clear(): void {
    for (const uid of [...this.#uids.keys()]) this.forget(uid);
  }

  /**
   * Removes the deletions that the cache now shows, and returns the remaining deletions. Later deletions do not change
   * the returned map.
   */
  settle(machines: readonly Machine[]): ReadonlyMap<string, DeletionState> {
    if (this.#uids.size === 0) return NO_DELETIONS;
    const shown = new Map(machines.map(({ metadata }) => [metadata.uid, metadata.deletionTimestamp]));
    for (const uid of [...this.#uids.keys()]) {
      if (!shown.has(uid) || shown.get(uid) !== undefined) this.forget(uid);
    }
    return new Map(this.#uids);
  }

  /** Returns the machines whose delete request got no response and must be repeated. */
  unanswered(machines: readonly Machine[]): readonly Machine[] {
    if (this.#uids.size === 0) return [];
    return machines.filter(({ metadata }) => this.#uids.get(metadata.uid) === 'unanswered');
  }
}
