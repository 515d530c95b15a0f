/**
 * Machines that are being marked as Failed. The machines of a group share a limit of replacements. The caches show the mark
 * only after the write is answered, and until then no other machine of the group may be marked. The original has permits
 * for this purpose (pkg/util/permits), which block workers. In mcm, a machine that finds a reservation waits for a change
 * of the other machine.
 */
export class Reservations {
  readonly #byGroup = new Map<string, Set<string>>();

  reserve(group: string, uid: string): void {
    const uids = this.#byGroup.get(group) ?? new Set();
    this.#byGroup.set(group, uids.add(uid));
  }

  /** Removes a reservation, if it exists. A group without reservations is removed too. */
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
