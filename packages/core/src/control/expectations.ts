import type { Machine } from '@mcm/api';

/**
 * For each UID of a MachineSet, counts the create requests that got no response. The API server may still create these
 * machines after a scale-down of their set. The deployment controller counts create requests as machines, so that no
 * second set creates the same machines.
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

/**
 * - `asked`: the API server confirmed the delete request. - `unanswered`: the result of the delete request is unknown.
 */
export type DeletionState = 'asked' | 'unanswered';

const NO_DELETIONS: ReadonlyMap<string, DeletionState> = new Map();

/**
 * The Machines for which this process has sent a delete request that the cache does not show yet.
 * - Without this record, a reconcile could still count a deleted machine, and delete a second machine.
 * - The response to a create request updates the cache at once, so created machines need no entry. If a create request
 *   gets no response, mcm repeats the request with the same name (see machine-names.ts).
 * - The original counts expected events and forgets them after five minutes without verification (BUG-3).
 */
export class PendingDeletions {
  readonly #uids = new Map<string, DeletionState>();
  readonly #versions = new Map<string, string>();
  readonly #shared: Set<string>;

  /** @param shared the set to which each UID is also added, for decisions about several MachineSets */
  constructor(shared = new Set<string>()) {
    this.#shared = shared;
  }

  /** The delete request uses the resource version of the machine as a precondition. */
  begin({ metadata: { uid, resourceVersion } }: Machine): void {
    if (!this.#versions.has(uid) && resourceVersion !== undefined) this.#versions.set(uid, resourceVersion);
    this.note(uid, 'unanswered');
  }

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

  forget(uid: string): void {
    this.#uids.delete(uid);
    this.#versions.delete(uid);
    this.#shared.delete(uid);
  }

  clear(): void {
    for (const uid of [...this.#uids.keys()]) this.forget(uid);
  }

  /** Removes the deletions that the cache shows, and returns a copy of the remaining deletions. */
  settle(machines: readonly Machine[]): ReadonlyMap<string, DeletionState> {
    if (this.#uids.size === 0) return NO_DELETIONS;
    const shown = new Map(machines.map(({ metadata }) => [metadata.uid, metadata.deletionTimestamp]));
    for (const uid of [...this.#uids.keys()]) {
      if (!shown.has(uid) || shown.get(uid) !== undefined) this.forget(uid);
    }
    return new Map(this.#uids);
  }

  unanswered(machines: readonly Machine[]): readonly Machine[] {
    if (this.#uids.size === 0) return [];
    return machines.filter(({ metadata }) => this.#uids.get(metadata.uid) === 'unanswered');
  }
}
