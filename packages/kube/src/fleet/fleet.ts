import type { ClusterStatus } from './cluster-state.ts';
import type { Discovered, Discovery, Member } from './member.ts';
import { assigned, type Peer } from './peers/assignment.ts';
import { ServedCluster, type ServedClusterParts } from './served-cluster.ts';

/** The replicas of the fleet, as this process sees them. */
export interface PeerList {
  readonly live: readonly Peer[] | undefined;
  run(signal: AbortSignal): Promise<void>;
}

/** Options of a fleet. */
export interface FleetOptions extends ServedClusterParts {
  /** Name of this replica. */
  readonly replica: string;
  readonly discovery: Discovery;
  /** Creates the list of replicas. `changed` must be called after each change. */
  readonly peers: (changed: () => void) => PeerList;
}

/** Serves the clusters of a discovery that are assigned to this replica. */
export class Fleet implements Discovered {
  readonly #o: FleetOptions;
  readonly #peers: PeerList;
  readonly #clusters = new Map<string, ServedCluster>();
  readonly #ending = new Set<Promise<void>>();

  constructor(options: FleetOptions) {
    this.#o = options;
    this.#peers = options.peers(() => this.#assignAll());
  }

  /** The live replicas. Undefined while this process does not take part. */
  get peers(): readonly Peer[] | undefined {
    return this.#peers.live;
  }

  /** The status of all clusters, by name. */
  status(): readonly ClusterStatus[] {
    return [...this.#clusters.values()]
      .map(({ status }) => status)
      .sort((a, b) => (a.cluster < b.cluster ? -1 : Number(a.cluster > b.cluster)));
  }

  /**
   * Serves clusters until the signal aborts. The peer Lease is released first, so that other replicas already wait for the
   * Leases of the clusters.
   */
  async run(signal: AbortSignal): Promise<void> {
    const peers = new AbortController();
    const running = this.#peers.run(peers.signal);
    try {
      await this.#o.discovery.run(this, signal);
    } finally {
      peers.abort(signal.reason);
      await running;
      await Promise.all([...this.#clusters.values()].map((cluster) => cluster.disengage('the process stops')));
      await Promise.all(this.#ending);
    }
  }

  engage(member: Member): void {
    const cluster = this.#cluster(member.name);
    cluster.engage(member);
    this.#assign(member.name, cluster);
  }

  refuse(name: string, problem: string): void {
    this.#cluster(name).refuse(problem);
  }

  disengage(name: string): void {
    const cluster = this.#clusters.get(name);
    if (cluster === undefined) return;
    const ended = cluster.disengage('the discovery no longer finds the cluster').then(() => {
      this.#ending.delete(ended);
      if (this.#clusters.get(name) === cluster && cluster.unused) this.#clusters.delete(name);
    });
    this.#ending.add(ended);
  }

  #cluster(name: string): ServedCluster {
    const known = this.#clusters.get(name) ?? new ServedCluster(name, this.#o);
    this.#clusters.set(name, known);
    return known;
  }

  #assignAll(): void {
    for (const [name, cluster] of this.#clusters) this.#assign(name, cluster);
  }

  #assign(name: string, cluster: ServedCluster): void {
    const { live } = this.#peers;
    if (live === undefined) return;
    const replica = assigned(name, live) ?? '';
    cluster.assign(replica, replica === this.#o.replica);
  }
}
