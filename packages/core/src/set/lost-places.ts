import type { Machine, MachineSet } from '@mcm/api';

/**
 * Places of a set whose machine is lost, whatever the cause, and for which none has been made yet. Without it nobody
 * could tell a machine that replaces another from one by which the set grows, once the other is gone.
 */
export class LostPlaces {
  #staff: Set<string> | undefined;
  #lost = 0;

  /** @param alive Machines of the set that stay unless something is decided. */
  count({ spec, status }: MachineSet, alive: readonly Machine[]): number {
    const open = Math.max((spec.replicas ?? 0) - alive.length, 0);
    // At first sight nobody knows what happened before: whatever is missing of a set that has had machines is lost.
    if (this.#staff === undefined) return (status?.replicas ?? 0) > 0 ? open : 0;
    const there = new Set(alive.map(({ metadata }) => metadata.uid));
    const gone = [...this.#staff].filter((uid) => !there.has(uid)).length;
    return Math.min(this.#lost + gone, open);
  }

  /** The same, and remembers it. */
  look(set: MachineSet, alive: readonly Machine[]): number {
    this.#lost = this.count(set, alive);
    this.#staff = new Set(alive.map(({ metadata }) => metadata.uid));
    return this.#lost;
  }

  /**
   * A machine was made: should it be gone at the next look, its place is lost as well.
   * @param replaces Whether it was made for a lost place.
   */
  made(uid: string, replaces: boolean): void {
    this.#staff?.add(uid);
    if (replaces) this.#lost = Math.max(this.#lost - 1, 0);
  }
}
