/**
 * Machines that mcm is marking as Failed now. The machines of a group share a limit of replacements. The caches show
 * the mark of a Failed machine only after the response to its write. Until the caches show the mark, a reservation
 * blocks the remaining machines of the group. For this purpose, the original blocks workers with permits
 * (pkg/util/permits).
 */
export class Reservations {
  readonly #byGroup = new Map<string, Set<string>>();

  reserve(group: string, uid: string): void {
    const uids = this.#byGroup.get(group) ?? new Set();
    this.#byGroup.set(group, uids.add(uid));
  }

  release(group: string, uid: string): void {
    const uids = this.#byGroup.get(group);
    uids?.delete(uid);
    if (uids?.size === 0) this.#byGroup.delete(group);
  }

  others(group: string, uid: string): number {
    const uids = this.#byGroup.get(group);
    return uids ? uids.size - (uids.has(uid) ? 1 : 0) : 0;
  }

  get size(): number {
    return this.#byGroup.size;
  }
}
