/**
 * Machines that are being marked Failed at this moment, by group of replacements. Caches do not show them before the
 * write is answered, and no other machine of the group may be marked in the meantime. This replaces the original's
 * permits (pkg/util/permits) and blocks no worker: a machine that finds a reservation waits for the change of the other
 * one.
 */
export class Reservations {
  readonly #byGroup = new Map<string, Set<string>>();

  reserve(group: string, uid: string): void {
    const uids = this.#byGroup.get(group) ?? new Set();
    this.#byGroup.set(group, uids.add(uid));
  }

  /** Removes a reservation. Without a reservation nothing happens. A group without reservations is removed. */
  release(group: string, uid: string): void {
    const uids = this.#byGroup.get(group);
    uids?.delete(uid);
    if (uids?.size === 0) this.#byGroup.delete(group);
  }

  /** Number of reservations of the group by other machines. */
  others(group: string, uid: string): number {
    const uids = this.#byGroup.get(group);
    return uids ? uids.size - (uids.has(uid) ? 1 : 0) : 0;
  }

  /** Number of groups with a reservation. */
  get size(): number {
    return this.#byGroup.size;
  }
}
