import { withoutUndefined } from '../../base/defined.ts';
import { createOutageLog, type OutageLog } from '../../base/outage-log.ts';
import type { Random } from '../../base/random.ts';
import { type Clock, pause, type Timer } from '../../clock/clock.ts';
import type { KubeClient } from '../../contract/client.ts';
import type { Change } from '../../contract/informer.ts';
import type { Logger } from '../../contract/logger.ts';
import { holderSettings, readRecord } from '../../election/record.ts';
import { runElected } from '../../election/run-elected.ts';
import type { ElectionTimings } from '../../election/settings.ts';
import { createInformer } from '../../informer/create-informer.ts';
import { type Lease, leases } from '../../types/groups.ts';
import { LeaseAnnotations } from '../../types/lease-annotations.ts';
import type { Peer } from './assignment.ts';

export interface PeersOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly program: string;
  readonly self: Peer;
  readonly source?: Readonly<Record<string, string>>;
  /** Returns the clusters whose API servers do not respond to this process. */
  readonly unreachable: () => readonly string[];
  readonly identity: string;
  readonly timings: ElectionTimings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly changed: () => void;
}

const WEIGHT = 'fleet-weight';
const UNREACHABLE = 'unreachable';
const MOST_UNREACHABLE = 1_000;

interface Observed {
  readonly lease: Lease;
  readonly atMs: number;
}

/** The renew time in a new Lease may be old, so only a change of the Lease counts as a renewal. */
const renewal = ({ spec }: Lease): string => `${spec?.holderIdentity} ${spec?.renewTime}`;

/**
 * Maintains the list of live replicas of a fleet with one peer Lease for each replica. The list of replicas stays
 * unchanged while this process cannot renew or watch the peer Leases.
 */
export class Peers {
  readonly #o: PeersOptions;
  readonly #observed = new Map<string, Observed>();
  readonly #outage: OutageLog;
  #holds = false;
  #watching = false;
  #live: readonly Peer[] | undefined;
  #timer: Timer | undefined;

  constructor(options: PeersOptions) {
    this.#o = options;
    this.#outage = createOutageLog('the peer Leases of the fleet', options.clock, options.log);
  }

  get live(): readonly Peer[] | undefined {
    return this.#live;
  }

  reachChanged(): void {
    this.#update();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { client, namespace, clock, random, log } = this.#o;
    const informer = createInformer<Lease>(client, leases, {
      namespace,
      clock,
      random,
      log,
      outage: (_resource, failure) => this.#onOutage(failure),
    });
    informer.onChange((change) => this.#onChange(change));
    await Promise.all([informer.run(signal), this.#keepOwn(signal)]);
    this.#timer?.cancel();
  }

  async #keepOwn(signal: AbortSignal): Promise<void> {
    const { client, namespace, self, source, identity, timings, clock, random, log } = this.#o;
    const own = (): Peer => this.#self;
    while (!signal.aborted) {
      const options = {
        client,
        lease: { namespace, name: this.#prefix + self.name },
        // Each term has its own identity, so a replica can acquire its own Lease immediately after an outage.
        identity,
        timings,
        clock,
        random,
        log,
        signal,
        get settings() {
          const { weight, unreachable } = own();
          return { ...source, ...withoutUndefined({ [WEIGHT]: weight, [UNREACHABLE]: unreachable }) };
        },
        onLeader: (holder: string) =>
          log.warn(
            'Another process has the name of this replica; this replica serves no cluster until the peer Lease is free',
            {
              replica: self.name,
              holder,
            },
          ),
      };
      const end = await runElected(options, async (term) => {
        this.#holds = true;
        this.#update();
        await new Promise<void>((resolve) => {
          if (term.aborted) resolve();
          term.addEventListener('abort', () => resolve(), { once: true });
        });
        this.#holds = false;
      });
      if (end === 'stopped') return;
      log.warn('The peer Lease was lost; the replica keeps its clusters until the Lease is renewed', {
        replica: self.name,
      });
      await pause(clock, timings.retryMs, signal);
    }
  }

  #onOutage(failure: unknown): void {
    if (failure !== undefined) {
      this.#outage.failed(failure);
      this.#watching = false;
      return;
    }
    this.#outage.worked();
    if (this.#watching) return;
    this.#watching = true;
    // This process has observed no renewals during the outage, so the lease duration of every replica starts again now.
    const atMs = this.#o.clock.monotonic();
    for (const [name, { lease }] of this.#observed) this.#observed.set(name, { lease, atMs });
    this.#update();
  }

  #onChange({ type, object }: Change<Lease>): void {
    const { name } = object.metadata;
    if (!name.startsWith(this.#prefix)) return;
    const before = this.#observed.get(name);
    if (type === 'deleted') this.#observed.delete(name);
    else if (before === undefined || renewal(before.lease) !== renewal(object))
      this.#observed.set(name, { lease: object, atMs: this.#o.clock.monotonic() });
    this.#update();
  }

  get #self(): Peer {
    const { self, unreachable } = this.#o;
    const clusters = unreachable().slice(0, MOST_UNREACHABLE);
    return clusters.length === 0 ? self : { ...self, unreachable: clusters };
  }

  get #prefix(): string {
    return `${this.#o.program}-fleet-`;
  }

  #update(): void {
    if (!this.#holds || !this.#watching) return;
    const { self, clock, changed } = this.#o;
    this.#timer?.cancel();
    const now = clock.monotonic();
    const own = this.#observed.get(this.#prefix + self.name)?.lease;
    const live = new Map([[self.name, { ...this.#self, ...(own && chosenFor(own)) }]]);
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [name, { lease, atMs }] of this.#observed) {
      const peer = { name: name.slice(this.#prefix.length), ...announced(lease), ...chosenFor(lease) };
      const untilMs = atMs + readRecord(lease).leaseDurationSeconds * 1000;
      if (peer.name === self.name || readRecord(lease).holder === '' || untilMs <= now) continue;
      live.set(peer.name, peer);
      nextMs = Math.min(nextMs, untilMs - now);
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#timer = clock.setTimeout(() => this.#update(), nextMs);
    const next = [...live.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    if (JSON.stringify(next) === JSON.stringify(this.#live)) return;
    this.#live = next;
    changed();
  }
}

/** Reads the weight and the unreachable clusters from a peer Lease. */
function announced(lease: Lease): Omit<Peer, 'name'> {
  const settings = holderSettings(lease);
  const [weight, clusters] = [settings?.[WEIGHT], settings?.[UNREACHABLE]];
  const unreachable = Array.isArray(clusters) ? clusters.filter((cluster) => typeof cluster === 'string') : [];
  return withoutUndefined({
    weight: typeof weight === 'number' && weight >= 0 ? weight : 0,
    unreachable: unreachable.length === 0 ? undefined : unreachable,
  });
}

function weightIn(annotations: Lease['metadata']['annotations']): number | undefined {
  const text = annotations?.[LeaseAnnotations.FleetWeight];
  return text !== undefined && /^\d{1,4}$/.test(text) ? Number(text) : undefined;
}

function chosenFor({ metadata: { annotations } }: Lease): Partial<Omit<Peer, 'name'>> {
  const clusters = (annotations?.[LeaseAnnotations.FleetClusters] ?? '')
    .split(',')
    .flatMap((name) => name.trim() || []);
  return withoutUndefined({
    weight: annotations?.[LeaseAnnotations.FleetDrain] === 'true' ? 0 : weightIn(annotations),
    clusters: clusters.length === 0 ? undefined : clusters,
  });
}
