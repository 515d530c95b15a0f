import type { Machine } from '@mcm/api';

/**
 * Counts create requests that have no answer yet, by the UID of the set. The deployment controller adds this count to the
 * machines of the set. If the set is scaled down before the answer, the server still creates these machines. The count
 * prevents another set from creating machines instead.
 */
export class CreationsUnderWay {
  readonly #counts = new Map<string, number>();

  of(setUid: string): number {
    return this.#counts.get(setUid) ?? 0;
  }

  /** Counts one creation until `work` ends. */
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

/** `asked`: the server confirmed the deletion. `unanswered`: the result of the request is unknown. */
export type DeletionState = 'asked' | 'unanswered';

const NO_DELETIONS: ReadonlyMap<string, DeletionState> = new Map();

/**
 * Deletions that the cache does not show yet.
 *
 * - Creations need no entry in this class. The answer of a creation is added to the cache at once. A creation without an
 *   answer is repeated with the same name (see machine-names.ts).
 * - Until the watch shows the deletion timestamp, a second reconcile would still count the machine, and could delete
 *   another one. So this class keeps the UIDs of deleted machines until the cache shows the deletion.
 * - The original counts expected events and forgets them after five minutes without verification (BUG-3 of
 *   docs/compatibility/rules-deployments.md). Entries of this class do not expire. After a restart, the first complete list
 *   contains the actual state.
 */
export class PendingDeletions {
  readonly #uids = new Map<string, DeletionState>();
  /** The resource version of each machine when the set controller decided to delete it. */
  readonly #versions = new Map<string, string>();
  readonly #shared: Set<string>;

  /** @param shared Receives the same UIDs. Decisions about several sets read this set. */
  constructor(shared = new Set<string>()) {
    this.#shared = shared;
  }

  /**
   * Records that the deletion of a machine starts. The request and all its repetitions have this resource version as a
   * precondition.
   */
  begin({ metadata: { uid, resourceVersion } }: Machine): void {
    if (!this.#versions.has(uid) && resourceVersion !== undefined) this.#versions.set(uid, resourceVersion);
    this.note(uid, 'unanswered');
  }

  /** Returns the resource version of the machine when the set controller decided to delete it. */
  versionOf(uid: string): string | undefined {
    return this.#versions.get(uid);
  }

  /** Records the result of a delete request. */
  note(uid: string, state: DeletionState): void {
    this.#uids.set(uid, state);
    this.#shared.add(uid);
  }

  /** Removes the entry after the server refused the deletion. The machine then counts again. */
  forget(uid: string): void {
    this.#uids.delete(uid);
    this.#versions.delete(uid);
    this.#shared.delete(uid);
  }

  /** Forgets the machines of a deleted set. */
  clear(): void {
    for (const uid of [...this.#uids.keys()]) this.forget(uid);
  }

  /**
   * Removes the deletions that the cache now shows, and returns the remaining deletions. Later deletions do not change the
   * returned map.
   */
  settle(machines: readonly Machine[]): ReadonlyMap<string, DeletionState> {
    if (this.#uids.size === 0) return NO_DELETIONS;
    const shown = new Map(machines.map(({ metadata }) => [metadata.uid, metadata.deletionTimestamp]));
    for (const uid of [...this.#uids.keys()]) {
      if (!shown.has(uid) || shown.get(uid) !== undefined) this.forget(uid);
    }
    return new Map(this.#uids);
  }

  /** Machines whose delete request got no answer and must be repeated. */
  unanswered(machines: readonly Machine[]): readonly Machine[] {
    if (this.#uids.size === 0) return [];
    return machines.filter(({ metadata }) => this.#uids.get(metadata.uid) === 'unanswered');
  }
}
