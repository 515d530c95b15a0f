import type { Logger } from '../contract/logger.ts';
import { createRecorder } from '../events/create-recorder.ts';
import type { CommonFlags } from '../flags/common-flags.ts';
import type { Flags, FlagValues } from '../flags/flag.ts';
import { Answers } from '../fleet/answers.ts';
import { LapsedLeases } from '../fleet/budget/lapsed-leases.ts';
import { type BudgetStatus, RolloutBudget } from '../fleet/budget/rollout-budget.ts';
import { CLUSTER_STATES, type ClusterStatus, type FailureReason } from '../fleet/cluster-state.ts';
import { clusterApiDiscovery } from '../fleet/discovery/cluster-api.ts';
import { clusterProfileDiscovery } from '../fleet/discovery/cluster-profiles.ts';
import { folderDiscovery } from '../fleet/discovery/folder.ts';
import { namespaceDiscovery } from '../fleet/discovery/namespaces.ts';
import { announcedSource, type FleetFlags, hasSeed, replicaOf } from '../fleet/flags.ts';
import { Fleet, type PeerCallbacks } from '../fleet/fleet.ts';
import type { Discovery, Member } from '../fleet/member.ts';
import { ClusterLabels, clustersText } from '../fleet/metrics/clusters-text.ts';
import { LeaseBook } from '../fleet/peers/lease-book.ts';
import { Peers } from '../fleet/peers/peers.ts';
import { Slots } from '../fleet/slots.ts';
import type { Metrics } from '../metrics/create-metrics.ts';
import type { Meters } from '../metrics/meters.ts';
import type { Clusters, Connections, Dial } from './cluster/clusters.ts';
import type { BinaryDefinition } from './definition.ts';
import type { DebugAnswer, DebugPages } from './health/debug-pages.ts';
import type { Host } from './process/host.ts';
import { keptSecret, leaseNameOf, probeCluster, serveCluster } from './serve-cluster.ts';

export interface FleetParts<F extends Flags> {
  readonly definition: BinaryDefinition<F>;
  readonly host: Host;
  readonly flags: FlagValues<F> & FlagValues<CommonFlags>;
  readonly fleetFlags: FleetFlags;
  readonly log: Logger;
  readonly dial: Dial;
  readonly home: Clusters;
  readonly connections: Connections;
  readonly metrics: Metrics;
  readonly pages: DebugPages;
}

const FLEET_PATH = '/debug/fleet';

const STOPPED = 'FleetClusterStopped';

interface Served {
  readonly metrics: Metrics;
  readonly pages: DebugPages;
}

/** Registers the metrics of a fleet, and returns the metric that counts failures. */
export function registerFleetMetrics(
  meters: Meters,
  fleet: Pick<Fleet, 'status' | 'peers'>,
  budget: () => BudgetStatus | undefined = () => undefined,
): (labels: { readonly cluster: string; readonly reason: FailureReason }) => void {
  meters.observed(
    {
      name: 'mcm_fleet_clusters',
      help: 'Number of clusters in each state, as this replica of the fleet sees them',
      labels: ['state'],
    },
    () => {
      const all = fleet.status();
      return CLUSTER_STATES.map((state) => ({
        labels: { state },
        value: all.filter((one) => one.state === state).length,
      }));
    },
  );
  meters.observed({ name: 'mcm_fleet_replicas', help: 'Number of live replicas of the fleet' }, () => [
    { value: fleet.peers?.length ?? 0 },
  ]);
  registerBudgetMetrics(meters, budget);
  return meters.counter({
    name: 'mcm_fleet_cluster_failures_total',
    help: 'Number of errors after which this replica stopped serving a cluster. Reasons: kubeconfig, other-cluster, unreachable, lease-lost, lease-deleted, other',
    labels: ['cluster', 'reason'],
  });
}

function registerBudgetMetrics(meters: Meters, status: () => BudgetStatus | undefined): void {
  meters.observed(
    {
      name: 'mcm_fleet_rollouts',
      help: 'Number of clusters by state: rolling (all clusters with a rollout claim) or waiting (only clusters of this replica)',
      labels: ['state'],
    },
    () => {
      const now = status();
      if (now === undefined) return [];
      return [
        { labels: { state: 'rolling' }, value: now.claims.length },
        { labels: { state: 'waiting' }, value: Object.keys(now.waiting).length },
      ];
    },
  );
  meters.observed(
    { name: 'mcm_fleet_rollout_limit', help: 'Maximum number of clusters that the rollout budget allows to roll out' },
    () => {
      const now = status();
      return now === undefined ? [] : [{ value: now.limit }];
    },
  );
}

const withAnswers = (connections: Connections, answers: Answers): Connections => ({
  ...connections,
  transport: answers.wrap(connections.transport),
  urgent: answers.wrap(connections.urgent),
});

export class FleetProcess<F extends Flags> {
  readonly #p: FleetParts<F>;
  readonly #fleet: Fleet;
  readonly #labels: ClusterLabels;
  readonly #served = new Map<string, Served>();
  readonly #book: LeaseBook | undefined;
  readonly #budget: RolloutBudget | undefined;

  constructor(parts: FleetParts<F>) {
    this.#p = parts;
    const { host, log, fleetFlags, metrics } = parts;
    const { clock, random } = host;
    const runtime = { clock, random, log, observe: metrics.reflectors };
    this.#labels = new ClusterLabels(fleetFlags['fleet-metrics-clusters']);
    const slots = new Slots({
      perCluster: fleetFlags['fleet-requests'],
      total: fleetFlags['fleet-total-requests'],
      clock,
    });
    const answers = new Answers(clock);
    const seed = hasSeed(fleetFlags) ? withAnswers(parts.connections, answers) : undefined;
    let terms = 0;
    const nextIdentity = (): string => {
      terms += 1;
      return `${host.identity}.${terms}`;
    };
    this.#book = seed && new LeaseBook(parts.home.control.client('fleet'), leaseNameOf(parts.definition), runtime);
    this.#budget = this.#book && this.#rolloutBudget(this.#book);
    const shared = {
      ...parts,
      seed,
      slots,
      nextIdentity,
      book: this.#book,
      budget: this.#budget,
      answeredMs: answers.ageMs,
      serving: this.#serving,
      region: (name: string) => this.#fleet.regionOf(name),
      event: this.#event,
    };
    this.#fleet = new Fleet({
      replica: replicaOf(fleetFlags),
      discovery: this.#discovery(),
      peers: (callbacks) => this.#peers(callbacks),
      serve: (run) => serveCluster(run, shared),
      probe: (run) => probeCluster(run, shared),
      clock,
      random,
      log,
      failed: (member, reason, error) => this.#onFailure(member, reason, error),
    });
    const count = registerFleetMetrics(metrics.meters, this.#fleet, () => this.#budget?.status());
    this.#count = (cluster, reason) => count({ cluster: this.#labels.of(cluster), reason });
    this.#serveStatus();
  }

  readonly #count: (cluster: string, reason: FailureReason) => void;

  async run(signal: AbortSignal): Promise<void> {
    try {
      await Promise.all([this.#fleet.run(signal), this.#book?.run(signal), this.#budget?.run(signal)]);
    } finally {
      await this.#recorder.flush();
    }
  }

  async scrape(): Promise<{ readonly contentType: string; readonly text: string }> {
    const { contentType, text } = await this.#p.metrics.scrape();
    const clusters = [...this.#served].map(async ([name, { metrics }]) => ({
      cluster: this.#labels.of(name),
      text: (await metrics.scrape()).text,
    }));
    return { contentType, text: clustersText(text, await Promise.all(clusters)) };
  }

  summary(): string {
    const all = this.#fleet.status();
    const counts = CLUSTER_STATES.map((state) => [state, all.filter((one) => one.state === state).length] as const);
    const shown = counts.filter(([, count]) => count > 0).map(([state, count]) => `${count} ${state}`);
    const replicas = this.#fleet.peers?.length;
    return replicas === undefined
      ? 'waiting for the peer Lease'
      : `${replicas} ${replicas === 1 ? 'replica' : 'replicas'}; clusters: ${shown.join(', ') || 'none'}`;
  }

  get #recorder() {
    const { definition, home, host, log } = this.#p;
    this.#events ??= createRecorder({
      client: home.control.client('events'),
      component: definition.name,
      clock: host.clock,
      log,
      random: host.random,
    });
    return this.#events;
  }

  #events: ReturnType<typeof createRecorder> | undefined;

  #discovery(): Discovery {
    const { host, log, home, metrics, fleetFlags: flags } = this.#p;
    const { clock, random } = host;
    if (flags['fleet-folder'] !== '') return folderDiscovery(flags['fleet-folder'], { clock, log });
    const common: FlagValues<CommonFlags> = this.#p.flags;
    const seed = home.control.client('fleet');
    const runtime = { clock, random, log, observe: metrics.reflectors };
    const kept = keptSecret(this.#p);
    const [clusters, profiles] = [flags['fleet-clusters'], flags['fleet-cluster-profiles']];
    if (clusters !== '') return clusterApiDiscovery({ seed, selector: clusters, kept, runtime });
    if (profiles !== '')
      return clusterProfileDiscovery({ hub: seed, namespace: common.namespace, selector: profiles, runtime });
    const selector = flags['fleet-namespaces'];
    return namespaceDiscovery({ seed, selector, secret: flags['fleet-secret'], kept, runtime });
  }

  #rolloutBudget(book: LeaseBook): RolloutBudget | undefined {
    const { definition, host, log, home, metrics } = this.#p;
    const flags: FlagValues<F> & FlagValues<CommonFlags> = this.#p.flags;
    const common: FlagValues<CommonFlags> = flags;
    const { clock, random } = host;
    const name = definition.fleet?.rolloutBudget === undefined ? '' : flags[definition.fleet.rolloutBudget];
    if (typeof name !== 'string' || name === '') return undefined;
    const client = home.control.client('fleet');
    return new RolloutBudget({
      client,
      namespace: common.namespace,
      name,
      clusters: () => this.#fleet.clusters(),
      leases: new LapsedLeases({ client, book, lease: leaseNameOf(definition), clock }),
      runtime: { clock, random, log, observe: metrics.reflectors },
    });
  }

  #peers(callbacks: PeerCallbacks): Peers {
    const { definition, host, log, home, fleetFlags } = this.#p;
    const flags: FlagValues<CommonFlags> = this.#p.flags;
    const { clock, random, identity } = host;
    return new Peers({
      client: home.control.urgentClient('fleet'),
      namespace: flags.namespace,
      program: definition.name,
      self: { name: replicaOf(fleetFlags), weight: fleetFlags['fleet-weight'] },
      source: announcedSource(fleetFlags),
      identity,
      timings: {
        leaseMs: flags['leader-elect-lease-duration'],
        renewDeadlineMs: flags['leader-elect-renew-deadline'],
        retryMs: flags['leader-elect-retry-period'],
      },
      clock,
      random,
      log,
      ...callbacks,
    });
  }

  #onFailure(member: Member, reason: FailureReason, error: string): void {
    this.#count(member.name, reason);
    const message = `${this.#p.definition.name} stopped its controllers for the cluster: ${error}; mcm retries`;
    this.#event(member, STOPPED, message);
  }

  readonly #event = ({ about }: Member, reason: string, message: string): void => {
    if (about !== undefined) this.#recorder.event(about, 'Warning', reason, message);
  };

  readonly #serving = (cluster: string, metrics: Metrics, pages: DebugPages): (() => void) => {
    const served = { metrics, pages };
    this.#served.set(cluster, served);
    this.#delegate(pages);
    return () => {
      if (this.#served.get(cluster) === served) this.#served.delete(cluster);
      this.#labels.forget(cluster);
    };
  };

  #delegate(pages: DebugPages): void {
    for (const { path, help } of pages.list()) {
      this.#p.pages.serve({
        path,
        help: `${help}; ?cluster=NAME selects the cluster`,
        answer: async (query) => {
          const name = query.get('cluster') ?? '';
          const page = this.#served.get(name)?.pages.get(path);
          if (page === undefined)
            throw new RangeError(`cluster=${name} must be one of: ${[...this.#served.keys()].sort().join(', ')}`);
          return page.answer(query);
        },
      });
    }
  }

  status(): readonly ClusterStatus[] {
    return this.#fleet
      .status()
      .map((status) => ({ ...status, holder: this.#book?.of(status.cluster)?.holder ?? status.holder }));
  }

  #serveStatus(): void {
    const answer = async (): Promise<DebugAnswer> => ({
      contentType: 'application/json',
      body: JSON.stringify({
        replica: replicaOf(this.#p.fleetFlags),
        replicas: this.#fleet.peers ?? [],
        regions: this.#fleet.regions(),
        rollouts: this.#budget?.status(),
        clusters: this.status(),
      }),
    });
    this.#p.pages.serve({
      path: FLEET_PATH,
      help: 'the clusters of the fleet, with their state and most recent error',
      answer,
    });
  }
}
