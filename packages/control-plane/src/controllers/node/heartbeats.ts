const GRACE_MS = 50_000;
const STARTUP_GRACE_MS = 60_000;

/** Times of heartbeats come from the clock of the controller, because the clocks of nodes may be wrong. */
export class Heartbeats {
  readonly #seen = new Map<string, number>();
  readonly #rounds = new Map<number, Set<string>>();
  readonly #roundOf = new Map<string, number>();
  readonly #roundMs: number;
  #amnesty = Number.NEGATIVE_INFINITY;

  constructor(roundMs: number) {
    this.#roundMs = roundMs;
  }

  /**
   * Records a heartbeat of a node.
   * @param at milliseconds since the epoch
   */
  beat(node: string, at: number): void {
    this.#seen.set(node, at);
  }

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

  deadline(node: string, hasReported: boolean): number {
    const seen = Math.max(this.#seen.get(node) ?? Number.NEGATIVE_INFINITY, this.#amnesty);
    return seen + (hasReported ? GRACE_MS : STARTUP_GRACE_MS);
  }

  watch(node: string, deadline: number): void {
    const round = Math.floor(deadline / this.#roundMs) + 1;
    if (this.#roundOf.get(node) === round) return;
    this.#leaveRound(node);
    this.#roundOf.set(node, round);
    const nodes = this.#rounds.get(round);
    if (nodes === undefined) this.#rounds.set(round, new Set([node]));
    else nodes.add(node);
  }

  due(now: number): readonly string[] {
    const due: string[] = [];
    for (const [round, nodes] of this.#rounds) {
      if (round * this.#roundMs > now) continue;
      due.push(...nodes);
      for (const node of nodes) this.#roundOf.delete(node);
      this.#rounds.delete(round);
    }
    return due;
  }

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
