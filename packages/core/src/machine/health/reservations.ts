/**
 * Machines that are being marked Failed right now, by group of replacements: caches do not show them before the write
 * is answered, and another one of the group must not be marked meanwhile. Stands for the original's permits
 * (pkg/util/permits), but holds nobody up: who finds a reservation waits for the machine's change.
 */
export class Reservations {
  readonly #byGroup = new Map<string, Set<string>>();

  reserve(group: string, uid: string): void {
    const uids = this.#byGroup.get(group) ?? new Set();
    this.#byGroup.set(group, uids.add(uid));
  }

  /** Of what was never reserved: nothing happens. A group without reservations is forgotten. */
  release(group: string, uid: string): void {
    const uids = this.#byGroup.get(group);
    uids?.delete(uid);
    if (uids?.size === 0) this.#byGroup.delete(group);
  }

  /** Reservations of the group by machines other than this one. */
  others(group: string, uid: string): number {
    const uids = this.#byGroup.get(group);
    return uids ? uids.size - (uids.has(uid) ? 1 : 0) : 0;
  }

  /** Groups with a reservation. */
  get size(): number {
    return this.#byGroup.size;
  }
}
