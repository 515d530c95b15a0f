/** Without a sign of life for this long a node counts as lost (`--node-monitor-grace-period`). */
const GRACE_MS = 50_000;
/** A node that has never reported gets a little longer (`--node-startup-grace-period`). */
const STARTUP_GRACE_MS = 60_000;

/**
 * Stores when each node last sent a heartbeat, by the clock of the controller and not by the times that nodes write.
 * Each node is in the round of the deadline that it had when it was added. So it is examined once per grace period, independent of the
 * number of heartbeats and nodes.
 */
export class Heartbeats {
  readonly #seen = new Map<string, number>();
  readonly #rounds = new Map<number, Set<string>>();
  readonly #roundOf = new Map<string, number>();
  readonly #roundMs: number;
  /** When all nodes were taken to be alive last. */
  #amnesty = Number.NEGATIVE_INFINITY;

  constructor(roundMs: number) {
    this.#roundMs = roundMs;
  }

  /** A heartbeat. `at`: milliseconds since the epoch. */
  beat(node: string, at: number): void {
    this.#seen.set(node, at);
  }

  /** A heartbeat of all nodes. */
  beatAll(at: number): void {
    this.#amnesty = at;
  }

  knows(node: string): boolean {
    return this.#seen.has(node);
  }

  forget(node: string): void {
    this.#seen.delete(node);
    this.#leaveRound(node);
  }

  /** When a node will be overdue, in milliseconds since the epoch. */
  deadline(node: string, hasReported: boolean): number {
    const seen = Math.max(this.#seen.get(node) ?? Number.NEGATIVE_INFINITY, this.#amnesty);
    return seen + (hasReported ? GRACE_MS : STARTUP_GRACE_MS);
  }

  /** Puts a node into the round in which its deadline has passed. */
  watch(node: string, deadline: number): void {
    const round = Math.floor(deadline / this.#roundMs) + 1;
    if (this.#roundOf.get(node) === round) return;
    this.#leaveRound(node);
    this.#roundOf.set(node, round);
    const nodes = this.#rounds.get(round);
    if (nodes === undefined) this.#rounds.set(round, new Set([node]));
    else nodes.add(node);
  }

  /** Removes and returns the nodes whose round is due. */
  due(now: number): readonly string[] {
    const due: string[] = [];
    // At most the number of rounds in a grace period.
    for (const [round, nodes] of this.#rounds) {
      if (round * this.#roundMs > now) continue;
      due.push(...nodes);
      for (const node of nodes) this.#roundOf.delete(node);
      this.#rounds.delete(round);
    }
    return due;
  }

  /** The time of the next round, or undefined. */
  next(): number | undefined {
    if (this.#rounds.size === 0) return undefined;
    return Math.min(...this.#rounds.keys()) * this.#roundMs;
  }

  #leaveRound(node: string): void {
    const round = this.#roundOf.get(node);
    if (round === undefined) return;
    this.#roundOf.delete(node);
    const nodes = this.#rounds.get(round);
    nodes?.delete(node);
    if (nodes?.size === 0) this.#rounds.delete(round);
  }
}
