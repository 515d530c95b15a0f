import { type Machine, machines } from '@mcm/api';
import {
  again,
  type Clock,
  errorText,
  type Informer,
  isForbidden,
  isNotFound,
  type Key,
  type KubeClient,
  KubeError,
  type KubeObject,
  keyOf,
  type Logger,
  nodes,
  type Outcome,
  type ResourceReader,
} from '@mcm/kube';
import type { Caches } from '../../cluster/caches.ts';
import { mergeDiff } from '../../values/merge-diff.ts';
import type { Doubt } from '../model/observation.ts';
import { afterOutage } from './health.ts';

/** Time settings of the reachability check, in milliseconds. */
export interface ReachabilityTimings {
  /**
   * The time between two checks while the controller is frozen. Flag: `--machine-safety-apiserver-statuscheck-period`.
   */
  readonly periodMs: number;
  /**
   * The time for which an API server may be unreachable before the controller freezes. Flag:
   * `--machine-safety-apiserver-statuscheck-timeout`.
   */
  readonly timeoutMs: number;
}

/** The default timings of the reachability check. */
export const REACHABILITY_DEFAULTS: ReachabilityTimings = { periodMs: 60_000, timeoutMs: 30_000 };

/** The minimum time between two probes limits the load if the timeout is very short. */
const MIN_PROBE_INTERVAL_MS = 1_000;
const PROBE_TIMEOUT_MS = 10_000;
const LAST_PROBE_MS = 1_000;
/** The time after an outage in which mcm checks no health, so that the caches can update. Source: machine_safety.go. */
const SETTLE_MS = 30_000;
const PROBE_NAME = 'dummy-name';

export const probeIntervalMs = ({ timeoutMs }: Pick<ReachabilityTimings, 'timeoutMs'>): number =>
  Math.max(timeoutMs / 5, MIN_PROBE_INTERVAL_MS);

/** The maximum age of data for health checks, including the duration of one probe, in milliseconds. */
const staleAfterMs = (timings: ReachabilityTimings): number =>
  Math.max(timings.timeoutMs, 2 * probeIntervalMs(timings));

/** Times are in milliseconds of the monotonic clock. */
export interface Reachability {
  /** The start of the first failed probe, or undefined if the API servers are reachable. */
  readonly downSince?: number;
  readonly frozen: boolean;
}

export interface ReachabilityStep {
  readonly state: Reachability;
  readonly thaw: boolean;
  readonly nextCheckMs: number;
}

/** The freeze starts on time even if a probe is still running. */
export const isFrozen = ({ frozen, downSince }: Reachability, now: number, timeoutMs: number): boolean =>
  frozen || (downSince !== undefined && now - downSince > timeoutMs);

/**
 * Freezes the controller if an API server was unreachable for longer than the timeout. During an outage, healthy nodes
 * look unhealthy, and mcm would replace all machines. In the original, a single failed check long after the previous
 * check causes a freeze. Source: machine_safety.go, reconcileClusterMachineSafetyAPIServer.
 * @param failingSince The start of the outage, or undefined if both servers responded.
 */
export function stepReachability(
  state: Reachability,
  failingSince: number | undefined,
  now: number,
  timings: ReachabilityTimings,
): ReachabilityStep {
  const { periodMs, timeoutMs } = timings;
  const intervalMs = probeIntervalMs(timings);
  if (failingSince === undefined)
    return { state: { frozen: false }, thaw: isFrozen(state, now, timeoutMs), nextCheckMs: intervalMs };
  const downSince = Math.min(state.downSince ?? failingSince, failingSince);
  const leftMs = downSince + timeoutMs - now;
  if (state.frozen || leftMs <= 0) return { state: { frozen: true, downSince }, thaw: false, nextCheckMs: periodMs };
  return { state: { frozen: false, downSince }, thaw: false, nextCheckMs: Math.min(intervalMs, leftMs) };
}

/** Probes have their own clients, so that they do not wait for other requests. */
export interface Probes {
  readonly control: KubeClient;
  readonly target: KubeClient | undefined;
  /**
   * The milliseconds since the control API server answered another request of this process. A recent answer replaces
   * the probe. By default, each check sends the probe.
   */
  readonly controlAnsweredMs?: (() => number | undefined) | undefined;
}

export interface ReachabilityOptions {
  readonly caches: Caches;
  readonly control: KubeClient;
  readonly target: KubeClient | undefined;
  readonly probes: Probes;
  readonly namespace: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly timings: ReachabilityTimings;
  readonly wake: (key: Key) => void;
  readonly check: () => void;
}

export class ReachabilityCheck {
  readonly key: Key = 'api-servers';
  readonly #options: ReachabilityOptions;
  #state: Reachability = { frozen: false };
  #provenAt: number;
  #settlesAt = Number.NEGATIVE_INFINITY;

  constructor(options: ReachabilityOptions) {
    this.#options = options;
    this.#provenAt = options.clock.monotonic();
    for (const cache of this.#assessed()) cache.onDoubt(() => this.#onDoubt(cache.doubted));
  }

  /**
   * The controller is frozen while a cache is in doubt after a restore of an API server. An API server with an older
   * state counts as an outage until the cache is verified.
   */
  #onDoubt(doubted: boolean): void {
    if (doubted) this.#state = { frozen: true, downSince: this.#options.clock.monotonic() };
    else this.#options.check();
  }

  #assessed(): readonly Pick<Informer<KubeObject>, 'doubted' | 'onDoubt'>[] {
    const { machines: own, target } = this.#options.caches;
    return this.#options.target ? [own, ...(target ? [target.nodes] : [])] : [];
  }

  /** Returns the time until the first probe, in milliseconds. */
  begin(): number {
    this.#provenAt = this.#options.clock.monotonic();
    return probeIntervalMs(this.#options.timings);
  }

  readonly frozen = (): boolean => {
    const { clock, timings } = this.#options;
    return isFrozen(this.#state, clock.monotonic(), timings.timeoutMs);
  };

  /**
   * The reason is that the data is too old, or that a freeze has just ended. Returns undefined if health checks are
   * allowed.
   */
  readonly doubt = (): Doubt | undefined => {
    const { clock, target, timings } = this.#options;
    if (target === undefined) return undefined;
    const now = clock.monotonic();
    const inMs = (ms: number): Date => new Date(clock.now().getTime() + ms);
    if (now < this.#settlesAt)
      return { because: 'an API server became reachable less than 30 seconds ago', until: inMs(this.#settlesAt - now) };
    const ageMs = Math.max(now - this.#provenAt, this.#behindForMs());
    if (ageMs <= staleAfterMs(timings)) return undefined;
    return { because: 'an API server is unreachable', until: inMs(probeIntervalMs(timings)) };
  };

  readonly reconcile = async (): Promise<Outcome> => {
    const { caches, clock, log, timings, wake } = this.#options;
    const startedAt = clock.monotonic();
    const rewound = this.#assessed().some(({ doubted }) => doubted)
      ? ['an API server was restored to an older state']
      : [];
    const answeredMs = this.#answeredMs();
    const failures = [...rewound, ...(await this.#failures(startedAt, answeredMs !== undefined))];
    const now = clock.monotonic();
    const failed = failures.length > 0;
    const step = stepReachability(this.#state, failed ? startedAt : undefined, now, timings);
    if (step.thaw) {
      // The controller stays frozen until the reset of the health timeouts succeeds.
      this.#state = { ...this.#state, frozen: true };
      await thaw(this.#options);
      this.#settle();
      log.info('API servers reachable again: checking machines', { afterMs: SETTLE_MS });
    } else if (step.state.frozen && !this.#state.frozen) {
      log.error('API servers unreachable: health checks are paused until the servers respond', {
        outOfReach: failures,
        sinceMs: now - (step.state.downSince ?? now),
      });
    }
    this.#state = step.state;
    if (!failed) this.#provenAt = startedAt - (answeredMs ?? 0);
    if (this.#behindForMs() > staleAfterMs(timings)) this.#settle();
    if (step.thaw) for (const key of caches.machines.store.list().map(keyOf)) wake(key);
    return again(step.nextCheckMs);
  };

  #settle(): void {
    this.#settlesAt = this.#options.clock.monotonic() + SETTLE_MS;
  }

  /** The API servers get new requests, because an open watch does not prove that new requests succeed. */
  async #failures(startedAt: number, controlAnswers: boolean): Promise<readonly string[]> {
    const { probes, namespace } = this.#options;
    const limitMs = this.#limitMs(startedAt);
    const asked = await Promise.all([
      controlAnswers
        ? undefined
        : probe('control', this.#options, limitMs, probes.control.resource(machines, namespace)),
      probes.target && probe('target', this.#options, limitMs, probes.target.resource(nodes)),
    ]);
    return asked.filter((each) => each !== undefined);
  }

  /** The age of the control API server's last answer, if the answer is recent enough to replace a probe. */
  #answeredMs(): number | undefined {
    const { probes, timings } = this.#options;
    const ageMs = probes.controlAnsweredMs?.();
    return ageMs !== undefined && ageMs < probeIntervalMs(timings) ? ageMs : undefined;
  }

  /** A failing probe must end before the freeze is due. */
  #limitMs(now: number): number {
    const { timeoutMs } = this.#options.timings;
    const { downSince } = this.#state;
    const leftMs = downSince === undefined || this.#state.frozen ? timeoutMs : downSince + timeoutMs - now;
    return Math.min(PROBE_TIMEOUT_MS, Math.max(leftMs, LAST_PROBE_MS));
  }

  /**
   * Cached data can become outdated even if the server responds. Without permission to read Nodes, mcm checks no
   * health, so the age of the Nodes does not count.
   */
  #behindForMs(): number {
    const { machines: own, target } = this.#options.caches;
    const ofNodes = target && !target.nodes.refused ? target.nodes.behindForMs() : 0;
    return Math.max(own.behindForMs(), ofNodes);
  }
}

/**
 * Returns the error, or undefined if the server is reachable. The responses `NotFound` and `Forbidden` prove that the
 * server is reachable.
 */
async function probe(
  cluster: 'control' | 'target',
  { clock, log }: ReachabilityOptions,
  limitMs: number,
  reader: Pick<ResourceReader<KubeObject>, 'get'>,
): Promise<string | undefined> {
  const limit = new AbortController();
  const timer = clock.setTimeout(() => limit.abort(new Error('no answer')), limitMs);
  try {
    await reader.get(PROBE_NAME, { signal: limit.signal, onRetryAfter: 'throw' });
    return undefined;
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return undefined;
    const text = errorText(error);
    log.debug('API server does not respond', {
      cluster,
      error: text,
      code: error instanceof KubeError ? error.code : 0,
    });
    return `${cluster}: ${text}`;
  } finally {
    timer.cancel();
  }
}

/** The time of the outage must not count for the health timeout of Unknown machines. */
async function thaw({ caches, control, clock }: ReachabilityOptions): Promise<void> {
  const unknown = caches.machines.store
    .list()
    .filter(({ metadata, status }) => status?.currentStatus?.phase === 'Unknown' && !metadata.deletionTimestamp);
  for (const machine of unknown) {
    const answer = await resetHealth(control, machine, clock.now());
    if (answer) caches.machines.recordWrite(answer);
  }
}

async function resetHealth(control: KubeClient, machine: Machine, now: Date): Promise<Machine | undefined> {
  const status = mergeDiff(machine.status, afterOutage(machine, now));
  if (!status) return undefined;
  const { name, namespace, uid, resourceVersion } = machine.metadata;
  const body = { metadata: { uid, resourceVersion }, status };
  return control.resource(machines, namespace).patch(name, { type: 'merge', body }, { subresource: 'status' });
}
