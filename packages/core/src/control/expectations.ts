import type { Machine } from '@mcm/api';

/**
 * Creations that were sent and not answered yet, by the uid of the set. A deployment counts them with the machines of
 * the set: when it makes the set smaller meanwhile, they come all the same, and another set must not grow in their place.
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

/** `asked`: the server confirmed. `unanswered`: whether it has done it is not known. */
export type DeletionState = 'asked' | 'unanswered';

/**
 * What we did and the cache does not show yet.
 *
 * Creations need no memory: the answer of a creation is put into the cache at once, and one whose answer was lost is
 * repeated under the same name (see machine-names.ts). A deletion has no such answer. Until the watch shows the deletion
 * timestamp, a second pass would still count the machine, and if another one has become less useful in the meantime
 * would give that one up too. So the uids of machines that we deleted are kept until the cache agrees.
 *
 * The original counts expected events, expires them after five minutes and then never asks (BUG-3 of docs/compatibility/rules-deployments.md).
 * Here nothing is counted and nothing expires: the memory is of facts about uids, and a uid leaves it as soon as the
 * cache shows the machine deleting or gone. A restart forgets it; the first complete list then shows the truth.
 */
export class PendingDeletions {
  readonly #uids = new Map<string, DeletionState>();
  /** The version of each machine that its deletion was decided on. */
  readonly #versions = new Map<string, string>();
  readonly #shared: Set<string>;

  /** @param shared Gets the same uids, for those who decide about more than one set. */
  constructor(shared = new Set<string>()) {
    this.#shared = shared;
  }

  /** A deletion of the machine is about to be sent: it is bound to this version, however often it is repeated. */
  begin({ metadata: { uid, resourceVersion } }: Machine): void {
    if (!this.#versions.has(uid) && resourceVersion !== undefined) this.#versions.set(uid, resourceVersion);
    this.note(uid, 'unanswered');
  }

  /** The version that the deletion of the machine was decided on. */
  versionOf(uid: string): string | undefined {
    return this.#versions.get(uid);
  }

  /** A deletion was sent. */
  note(uid: string, state: DeletionState): void {
    this.#uids.set(uid, state);
    this.#shared.add(uid);
  }

  /** The server refused; the machine counts again. */
  forget(uid: string): void {
    this.#uids.delete(uid);
    this.#versions.delete(uid);
    this.#shared.delete(uid);
  }

  /** The set has gone. */
  clear(): void {
    for (const uid of [...this.#uids.keys()]) this.forget(uid);
  }

  /** Forgets what the cache now shows, and gives what it does not. */
  settle(machines: readonly Machine[]): ReadonlyMap<string, DeletionState> {
    if (this.#uids.size === 0) return this.#uids;
    const shown = new Map(machines.map(({ metadata }) => [metadata.uid, metadata.deletionTimestamp]));
    for (const uid of [...this.#uids.keys()]) {
      if (!shown.has(uid) || shown.get(uid) !== undefined) this.forget(uid);
    }
    return new Map(this.#uids);
  }

  /** Machines whose deletion must be sent again because no answer came. */
  unanswered(machines: readonly Machine[]): readonly Machine[] {
    if (this.#uids.size === 0) return [];
    return machines.filter(({ metadata }) => this.#uids.get(metadata.uid) === 'unanswered');
  }
}
