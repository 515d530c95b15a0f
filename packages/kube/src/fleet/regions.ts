import type { Clock } from '../clock/clock.ts';
import type { Peer } from './peers/assignment.ts';
import type { ServedCluster } from './served-cluster.ts';

/** The clusters of one region. */
export interface RegionReach {
  readonly region: string;
  readonly unreachable: number;
  readonly clusters: number;
}

/** The cache keeps the results for this time, because each decision about a machine needs a result. */
const MAX_AGE_MS = 5_000;

export interface RegionsOptions {
  readonly clock: Clock;
  readonly replica: string;
  readonly clusters: () => Iterable<ServedCluster>;
  readonly peers: () => readonly Peer[];
}

/** Counts the clusters whose API servers do not respond, separately for each region. */
export class Regions {
  readonly #o: RegionsOptions;
  #counted: ReadonlyMap<string, RegionReach> = new Map();
  #at = Number.NEGATIVE_INFINITY;

  constructor(options: RegionsOptions) {
    this.#o = options;
  }

  of(region: string): RegionReach {
    const now = this.#o.clock.monotonic();
    if (now - this.#at >= MAX_AGE_MS) {
      this.#counted = this.#count();
      this.#at = now;
    }
    return this.#counted.get(region) ?? { region, unreachable: 0, clusters: 0 };
  }

  list(): readonly RegionReach[] {
    return [...this.#count().values()].sort((a, b) => (a.region < b.region ? -1 : 1));
  }

  #count(): ReadonlyMap<string, RegionReach> {
    const lost = new Map(this.#o.peers().map(({ name, unreachable = [] }) => [name, new Set(unreachable)]));
    const counted = new Map<string, RegionReach>();
    for (const { region, status, outage } of this.#o.clusters()) {
      if (region === undefined) continue;
      const { cluster, assigned } = status;
      const silent = assigned === this.#o.replica ? outage : (lost.get(assigned)?.has(cluster) ?? false);
      const { unreachable, clusters } = counted.get(region) ?? { unreachable: 0, clusters: 0 };
      counted.set(region, { region, unreachable: unreachable + Number(silent), clusters: clusters + 1 });
    }
    return counted;
  }
}
