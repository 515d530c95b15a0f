/**
 * Reserves replacements. The caches show a Failed machine only after the response to the status write. During the
 * status write, the reservation counts toward the replacement limit of the group. The original uses permits instead of
 * reservations (pkg/util/permits).
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
