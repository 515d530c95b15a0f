import type { Clock, Informer, Lease } from '@mcm/kube';
import { peerOf, unreachableOf } from '../../members/peers.ts';

/**
 * The last observed change of a Lease. The clocks of the replicas may differ, so this process measures with its own
 * clock how long a Lease has been unchanged.
 */
interface Observed {
  readonly version: string | undefined;
  readonly atMs: number;
}

/** Finds the clusters whose API server does not respond to a live replica of the fleet. */
export class Unreachable {
  readonly #leases: Pick<Informer<Lease>, 'store'>;
  readonly #clock: Clock;
  readonly #observed = new Map<string, Observed>();
  #texts: ReadonlyMap<string, string> = new Map();

  constructor(leases: Pick<Informer<Lease>, 'store'>, clock: Clock) {
    this.#leases = leases;
    this.#clock = clock;
  }

  /** Returns a sentence about the replicas that cannot reach the API server of a cluster. */
  of(cluster: string): string {
    return this.#texts.get(cluster) ?? '';
  }

  /**
   * Reads the Leases of the replicas, and returns the clusters whose sentence has changed. The caller must call
   * `assess` every few seconds.
   */
  assess(): readonly string[] {
    const found = new Map<string, string[]>();
    for (const lease of this.#leases.store.list()) {
      const peer = peerOf(lease);
      if (peer === undefined || !this.#isLive(lease)) continue;
      for (const cluster of unreachableOf(lease))
        found.set(cluster, [...(found.get(cluster) ?? []), `${peer.program} of replica ${peer.replica}`]);
    }
    const next = new Map(
      [...found].map(([cluster, clients]) => [
        cluster,
        `The API server does not respond to ${clients.toSorted().join(', ')}.`,
      ]),
    );
    const before = this.#texts;
    this.#texts = next;
    return [...new Set([...before.keys(), ...next.keys()])].filter((name) => before.get(name) !== next.get(name));
  }

  #isLive({ metadata: { name, resourceVersion: version }, spec }: Lease): boolean {
    const now = this.#clock.monotonic();
    const known = this.#observed.get(name);
    const seen = known?.version === version ? known : undefined;
    const { atMs } = seen ?? { atMs: now };
    if (seen === undefined) this.#observed.set(name, { version, atMs });
    return now - atMs <= (spec?.leaseDurationSeconds ?? 0) * 1000;
  }
}
