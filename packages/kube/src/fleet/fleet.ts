import type { BudgetCluster } from './budget/rollout-budget.ts';
import type { ClusterStatus } from './cluster-state.ts';
import type { Discovered, Discovery, Member } from './member.ts';
import { assigned, type Peer, reaches } from './peers/assignment.ts';
import { type RegionReach, Regions } from './regions.ts';
import { ClusterGone, ServedCluster, type ServedClusterParts } from './served-cluster.ts';

export interface PeerList {
  readonly live: readonly Peer[] | undefined;
  run(signal: AbortSignal): Promise<void>;
  /** Called when the list of unreachable clusters changes. */
  reachChanged(): void;
}

export interface PeerCallbacks {
  readonly changed: () => void;
  readonly unreachable: () => readonly string[];
}

export interface FleetOptions extends Omit<ServedClusterParts, 'elsewhere' | 'reachChanged'> {
  readonly replica: string;
  readonly discovery: Discovery;
  readonly peers: (callbacks: PeerCallbacks) => PeerList;
}

export class Fleet implements Discovered {
  readonly #o: FleetOptions;
  readonly #peers: PeerList;
  readonly #parts: ServedClusterParts;
  readonly #clusters = new Map<string, ServedCluster>();
  readonly #ending = new Set<Promise<void>>();
  readonly #regions: Regions;

  constructor(options: FleetOptions) {
    this.#o = options;
    this.#peers = options.peers({ changed: () => this.#assignAll(), unreachable: () => this.#unreachable() });
    this.#regions = new Regions({
      clock: options.clock,
      replica: options.replica,
      clusters: () => this.#clusters.values(),
      peers: () => this.#peers.live ?? [],
    });
    this.#parts = {
      ...options,
      elsewhere: (name) => this.#elsewhere(name),
      reachChanged: () => this.#peers.reachChanged(),
    };
  }

  #elsewhere(name: string): boolean {
    return this.#peers.live?.some((peer) => peer.name !== this.#o.replica && reaches(name, peer)) ?? false;
  }

  #unreachable(): readonly string[] {
    return [...this.#clusters].flatMap(([name, { unreachable }]) => (unreachable ? [name] : [])).sort();
  }

  get peers(): readonly Peer[] | undefined {
    return this.#peers.live;
  }

  status(): readonly ClusterStatus[] {
    return [...this.#clusters.values()]
      .map(({ status }) => status)
      .sort((a, b) => (a.cluster < b.cluster ? -1 : Number(a.cluster > b.cluster)));
  }

  clusters(): readonly BudgetCluster[] {
    return [...this.#clusters].map(([name, { labels }]) => ({ name, labels }));
  }

  regionOf(cluster: string): RegionReach | undefined {
    const region = this.#clusters.get(cluster)?.region;
    return region === undefined ? undefined : this.#regions.of(region);
  }

  regions(): readonly RegionReach[] {
    return this.#regions.list();
  }

  async run(signal: AbortSignal): Promise<void> {
    const peers = new AbortController();
    const running = this.#peers.run(peers.signal);
    try {
      await this.#o.discovery.run(this, signal);
    } finally {
      peers.abort(signal.reason);
      await running;
      await Promise.all(
        [...this.#clusters.values()].map((cluster) => cluster.disengage(new Error('the process stops'))),
      );
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

  handOver(name: string, reason: string): void {
    this.#cluster(name).handOver(reason);
  }

  disengage(name: string): void {
    const cluster = this.#clusters.get(name);
    if (cluster === undefined) return;
    const ended = cluster
      .disengage(new ClusterGone('the configuration of the fleet no longer contains the cluster'))
      .then(() => {
        this.#ending.delete(ended);
        if (this.#clusters.get(name) === cluster && cluster.unused) this.#clusters.delete(name);
      });
    this.#ending.add(ended);
  }

  deleting(name: string): void {
    this.#clusters.get(name)?.deleting();
  }

  #cluster(name: string): ServedCluster {
    const known = this.#clusters.get(name) ?? new ServedCluster(name, this.#parts);
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
