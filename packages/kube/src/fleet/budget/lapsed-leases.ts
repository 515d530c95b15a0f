import type { Clock } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import { isNotFound } from '../../contract/errors.ts';
import { type Lease, leases } from '../../types/groups.ts';
import type { LeaseBook } from '../peers/lease-book.ts';
import type { Claim } from './record.ts';

const LAPSE_MS = 60_000;

export interface LapsedLeasesOptions {
  readonly client: KubeClient;
  readonly book: Pick<LeaseBook, 'of' | 'endsAt'>;
  readonly lease: string;
  readonly clock: Clock;
}

/**
 * Detects claims of clusters that no process serves. The process measures by its own clock how long the Lease stays
 * unchanged, because clocks of processes may differ.
 */
export class LapsedLeases {
  readonly #o: LapsedLeasesOptions;
  readonly #claims = new Map<string, { readonly id: string; readonly atMs: number }>();

  constructor(options: LapsedLeasesOptions) {
    this.#o = options;
  }

  note(claims: ReadonlyMap<string, Claim>): void {
    const atMs = this.#o.clock.monotonic();
    for (const name of this.#claims.keys()) if (!claims.has(name)) this.#claims.delete(name);
    for (const [name, { id }] of claims) if (this.#claims.get(name)?.id !== id) this.#claims.set(name, { id, atMs });
  }

  nextLapseMs(claims: ReadonlyMap<string, Claim>): number | undefined {
    const now = this.#o.clock.monotonic();
    const times = [...claims.keys()].map((name) => this.#lapsesAt(name)).map((at) => (at > now ? at : now + LAPSE_MS));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Before a claim lapses, the API server must confirm that the Lease of the cluster is unchanged. */
  async lapsed(claims: ReadonlyMap<string, Claim>, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    const now = this.#o.clock.monotonic();
    for (const name of claims.keys())
      if (this.#lapsesAt(name) <= now && (await this.#confirmed(name, signal))) found.add(name);
    return found;
  }

  #lapsesAt(cluster: string): number {
    const { book, clock } = this.#o;
    const seenAt = this.#claims.get(cluster)?.atMs ?? clock.monotonic();
    return Math.max(seenAt, book.endsAt(cluster) ?? 0) + LAPSE_MS;
  }

  async #confirmed(cluster: string, signal: AbortSignal): Promise<boolean> {
    const { client, book, lease } = this.#o;
    const known = book.of(cluster)?.spec;
    try {
      const { spec } = await client.resource<Lease>(leases, cluster).get(lease, { signal });
      return JSON.stringify(spec) === known;
    } catch (error) {
      return isNotFound(error) && known === undefined;
    }
  }
}
