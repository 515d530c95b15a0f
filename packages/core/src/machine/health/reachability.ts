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
  /** Flag: `--machine-safety-apiserver-statuscheck-period`. */
  readonly periodMs: number;
  /**
   * If an API server is unreachable for longer than this time, the controller freezes. Flag:
   * `--machine-safety-apiserver-statuscheck-timeout`.
   */
  readonly timeoutMs: number;
}

/** The default time settings of the reachability check. */
export const REACHABILITY_DEFAULTS: ReachabilityTimings = { periodMs: 60_000, timeoutMs: 30_000 };

/** The minimum time between two probes of an API server, even with a very short timeout. */
const MIN_PROBE_INTERVAL_MS = 1_000;
const PROBE_TIMEOUT_MS = 10_000;
const LAST_PROBE_MS = 1_000;
/** After an outage, mcm skips health checks for this time, so that the caches can update. Source: machine_safety.go. */
const SETTLE_MS = 30_000;
const PROBE_NAME = 'dummy-name';

export const probeIntervalMs = ({ timeoutMs }: Pick<ReachabilityTimings, 'timeoutMs'>): number =>
  Math.max(timeoutMs / 5, MIN_PROBE_INTERVAL_MS);

/** Returns the maximum age of cached data for health checks, in milliseconds. */
const staleAfterMs = (timings: ReachabilityTimings): number =>
  Math.max(timings.timeoutMs, 2 * probeIntervalMs(timings));

/** The state of the reachability check, with times in milliseconds of the monotonic clock. */
export interface Reachability {
  readonly downSince?: number;
  readonly frozen: boolean;
}

export interface ReachabilityStep {
  readonly state: Reachability;
  readonly thaw: boolean;
  readonly nextCheckMs: number;
}

/** Returns true if the controller is frozen. The freeze starts on time even if a probe is still running. */
export const isFrozen = ({ frozen, downSince }: Reachability, now: number, timeoutMs: number): boolean =>
  frozen || (downSince !== undefined && now - downSince > timeoutMs);

/**
 * Freezes the controller if an API server was unreachable for longer than the timeout. During an outage, healthy nodes
 * look unhealthy, and mcm would replace all machines. The original can freeze after a single failed check, if the
 * previous check was long ago. Source: machine_safety.go, reconcileClusterMachineSafetyAPIServer.
 * @param failingSince The start of the outage, or undefined if both API servers responded.
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

/** Probes have their own HTTP clients, so that they do not wait for other requests. */
export interface Probes {
  readonly control: KubeClient;
  readonly target: KubeClient | undefined;
  /**
   * Returns the time in milliseconds since the last response of the control API server. A recent response can replace a
   * probe.
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

  /** After a restore of an API server from a backup, the controller is frozen until the caches are verified. */
  #onDoubt(doubted: boolean): void {
    if (doubted) this.#state = { frozen: true, downSince: this.#options.clock.monotonic() };
    else this.#options.check();
  }

  #assessed(): readonly Pick<Informer<KubeObject>, 'doubted' | 'onDoubt'>[] {
    const { machines: own, target } = this.#options.caches;
    return this.#options.target ? [own, ...(target ? [target.nodes] : [])] : [];
  }

  begin(): number {
    this.#provenAt = this.#options.clock.monotonic();
    return probeIntervalMs(this.#options.timings);
  }

  readonly frozen = (): boolean => {
    const { clock, timings } = this.#options;
    return isFrozen(this.#state, clock.monotonic(), timings.timeoutMs);
  };

  /** Returns the reason why health checks are not allowed, or undefined. */
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
      // The controller stays frozen until mcm has reset the health timeouts.
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

  /** Sends a request to each API server, because an open watch does not prove that new requests succeed. */
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

  /** Returns the age of a recent response of the control API server that can replace a probe. */
  #answeredMs(): number | undefined {
    const { probes, timings } = this.#options;
    const ageMs = probes.controlAnsweredMs?.();
    return ageMs !== undefined && ageMs < probeIntervalMs(timings) ? ageMs : undefined;
  }

  /**
   * Returns the time limit of the next probe. A failing probe must end before the time at which the controller freezes.
   */
  #limitMs(now: number): number {
    const { timeoutMs } = this.#options.timings;
    const { downSince } = this.#state;
    const leftMs = downSince === undefined || this.#state.frozen ? timeoutMs : downSince + timeoutMs - now;
    return Math.min(PROBE_TIMEOUT_MS, Math.max(leftMs, LAST_PROBE_MS));
  }

  /**
   * Returns the age of the oldest cache. A cache can become outdated although the API server responds. Without
   * permission to read Nodes, mcm skips health checks, so the age of the Nodes does not count.
   */
  #behindForMs(): number {
    const { machines: own, target } = this.#options.caches;
    const ofNodes = target && !target.nodes.refused ? target.nodes.behindForMs() : 0;
    return Math.max(own.behindForMs(), ofNodes);
  }
}

/**
 * Probes an API server, and returns the error or undefined. The responses `NotFound` and `Forbidden` prove that the API
 * server is reachable.
 */
async function probe(
  cluster: 'control' | 'target',
  { clock, log }: ReachabilityOptions,
  limitMs: number,
  reader: Pick<ResourceReader<KubeObject>, 'get'>,
): Promise<string | undefined> {
  const limit = new AbortController();
  const timer = clock.setTimeout(() => limit.abort(new Error('no response')), limitMs);
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

/** Restarts the health timeout of Unknown machines, because the time of an outage must not count. */
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
