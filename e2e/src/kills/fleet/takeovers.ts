export interface Takeover {
  readonly lease: string;
  readonly ms: number;
}

interface Open {
  readonly sinceMs: number;
  isLate: boolean;
}

const isRunOf = (identity: string, holder: string): boolean => holder.startsWith(`${identity}.`);

/** Records how long the Leases of killed processes wait for a new holder. */
export class Takeovers {
  readonly #limitMs: number;
  readonly #holders = new Map<string, string>();
  readonly #killed = new Set<string>();
  readonly #open = new Map<string, Open>();
  readonly done: Takeover[] = [];
  readonly violations: string[] = [];

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  lease(lease: string, holder: string, nowMs: number): void {
    this.#holders.set(lease, holder);
    const open = this.#open.get(lease);
    if (open === undefined || holder === '' || this.#isDead(holder)) return;
    this.#open.delete(lease);
    this.done.push({ lease, ms: nowMs - open.sinceMs });
    this.#verify(lease, open, nowMs);
  }

  kill(identities: readonly string[], nowMs: number): number {
    for (const identity of identities) this.#killed.add(identity);
    const lost = [...this.#holders].filter(([, holder]) => identities.some((identity) => isRunOf(identity, holder)));
    for (const [lease] of lost) if (!this.#open.has(lease)) this.#open.set(lease, { sinceMs: nowMs, isLate: false });
    return lost.length;
  }

  verify(nowMs: number): void {
    for (const [lease, open] of this.#open) this.#verify(lease, open, nowMs);
  }

  #verify(lease: string, open: Open, nowMs: number): void {
    if (open.isLate || nowMs - open.sinceMs <= this.#limitMs) return;
    open.isLate = true;
    this.violations.push(`Lease ${lease} had no new holder ${this.#limitMs / 1_000} s after the kill`);
  }

  #isDead(holder: string): boolean {
    for (const identity of this.#killed) if (isRunOf(identity, holder)) return true;
    return false;
  }

  get open(): number {
    return this.#open.size;
  }
}
