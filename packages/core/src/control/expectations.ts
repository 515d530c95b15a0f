import type { Machine } from '@mcm/api';

/**
 * Creations without an answer yet, by the UID of the set. A deployment counts them with the machines of the set. If the
 * set shrinks in the meantime, they are still created, and another set must not grow in their place.
 */
export class CreationsUnderWay {
  readonly #counts = new Map<string, number>();

  of(setUid: string): number {
    return this.#counts.get(setUid) ?? 0;
  }

  /** Counts one creation until `work` has ended. */
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

/** `asked`: the server confirmed. `unanswered`: the result is unknown. */
export type DeletionState = 'asked' | 'unanswered';

const NO_DELETIONS: ReadonlyMap<string, DeletionState> = new Map();

/**
 * Deletions that the cache does not show yet.
 *
 * - Creations need no memory. Their answer goes into the cache at once, and one without an answer is repeated under the
 *   same name (see machine-names.ts).
 * - Until the watch shows a deletion timestamp, a second pass would count the machine. It would then delete another one
 *   that has become less useful. So the UIDs of deleted machines are kept until the cache shows the deletion.
 * - The original counts expected events, forgets them after five minutes and never verifies (BUG-3 of
 *   docs/compatibility/rules-deployments.md). Here nothing expires. After a restart, the first complete list shows the
 *   truth.
 */
export class PendingDeletions {
  readonly #uids = new Map<string, DeletionState>();
  /** The version of each machine at the decision about its deletion. */
  readonly #versions = new Map<string, string>();
  readonly #shared: Set<string>;

  /** @param shared Receives the same UIDs, for decisions about more than one set. */
  constructor(shared = new Set<string>()) {
    this.#shared = shared;
  }

  /** A deletion of the machine starts. It names this version in all its repetitions. */
  begin({ metadata: { uid, resourceVersion } }: Machine): void {
    if (!this.#versions.has(uid) && resourceVersion !== undefined) this.#versions.set(uid, resourceVersion);
    this.note(uid, 'unanswered');
  }

  /** The version of the machine at the decision about its deletion. */
  versionOf(uid: string): string | undefined {
    return this.#versions.get(uid);
  }

  /** A deletion was sent. */
  note(uid: string, state: DeletionState): void {
    this.#uids.set(uid, state);
    this.#shared.add(uid);
  }

  /** The server refused, so the machine counts again. */
  forget(uid: string): void {
    this.#uids.delete(uid);
    this.#versions.delete(uid);
    this.#shared.delete(uid);
  }

  /** Forgets the machines of a deleted set. */
  clear(): void {
    for (const uid of [...this.#uids.keys()]) this.forget(uid);
  }

  /** Forgets deletions that the cache shows now, and returns the others. Later deletions do not change the result. */
  settle(machines: readonly Machine[]): ReadonlyMap<string, DeletionState> {
    if (this.#uids.size === 0) return NO_DELETIONS;
    const shown = new Map(machines.map(({ metadata }) => [metadata.uid, metadata.deletionTimestamp]));
    for (const uid of [...this.#uids.keys()]) {
      if (!shown.has(uid) || shown.get(uid) !== undefined) this.forget(uid);
    }
    return new Map(this.#uids);
  }

  /** Machines whose deletion must be repeated because it got no answer. */
  unanswered(machines: readonly Machine[]): readonly Machine[] {
    if (this.#uids.size === 0) return [];
    return machines.filter(({ metadata }) => this.#uids.get(metadata.uid) === 'unanswered');
  }
}
