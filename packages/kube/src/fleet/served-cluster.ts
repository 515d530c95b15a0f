import { type BackoffOptions, backoffMs } from '../base/backoff.ts';
import { errorText } from '../base/error-text.ts';
import type { Random } from '../base/random.ts';
import { type Clock, pause } from '../clock/clock.ts';
import { KubeError } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';
import { ConfigError } from '../credentials/cluster-config.ts';
import type { ClusterState, ClusterStatus, FailureReason, Progress } from './cluster-state.ts';
import { LeaseDeleted } from './deletion.ts';
import type { Sleep } from './hibernation.ts';
import { OtherCluster } from './identity.ts';
import { type Member, versionOf } from './member.ts';
import { Unreachable } from './reach.ts';

export interface ClusterMemory {
  uid: string | undefined;
}

export interface ClusterRun {
  readonly member: Member;
  readonly progress: Progress;
  readonly memory: ClusterMemory;
  /** Returns true if another replica may reach the API server of the cluster. */
  readonly elsewhere: () => boolean;
  readonly share: () => number;
  readonly deletion: AbortSignal;
  readonly signal: AbortSignal;
}

export type RunEnd = 'stopped' | 'empty' | Sleep;

/** Runs the controllers of a cluster until they end, and rejects if an error ends them. */
type Serve = (run: ClusterRun) => Promise<RunEnd>;

export class ClusterGone extends Error {
  override readonly name = 'ClusterGone';
}

export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

export interface ServedClusterParts {
  readonly serve: Serve;
  readonly probe: (run: ClusterRun) => Promise<void>;
  readonly elsewhere: (cluster: string) => boolean;
  readonly reachChanged: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly failed: (member: Member, reason: FailureReason, error: string) => void;
}

const RETRY: BackoffOptions = { baseMs: 5_000, maxMs: 300_000, jitter: 0.2 };
const RETRY_UNREACHABLE: BackoffOptions = { ...RETRY, maxMs: 30_000 };
const PROBE_MS = 30_000;
const STABLE_MS = 60_000;

const reasonOf = (error: unknown): FailureReason => {
  if (error instanceof ConfigError) return 'kubeconfig';
  if (error instanceof OtherCluster) return 'other-cluster';
  if (error instanceof LeaseLost) return 'lease-lost';
  if (error instanceof LeaseDeleted) return 'lease-deleted';
  return error instanceof KubeError || error instanceof Unreachable ? 'unreachable' : 'other';
};

/** Runs the controllers of one cluster of the fleet, independently of all other clusters. */
export class ServedCluster {
  readonly #parts: ServedClusterParts;
  readonly #name: string;
  readonly #memory: ClusterMemory = { uid: undefined };
  #member: Member | undefined;
  #wanted = false;
  #assigned = '';
  #run: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #state: ClusterState = 'elsewhere';
  #since: Date;
  #holder = '';
  #error = '';
  #silent = false;
  #unreachable = false;
  #mute = false;
  #probing = false;
  #deletion = new AbortController();
  #empty = false;
  #unserved: 'refused' | 'handed-over' = 'refused';
  #sleep: Sleep | undefined;

  constructor(name: string, parts: ServedClusterParts) {
    this.#name = name;
    this.#parts = parts;
    this.#since = parts.clock.now();
  }

  get status(): ClusterStatus {
    return {
      cluster: this.#name,
      state: this.#state,
      since: this.#since.toISOString(),
      assigned: this.#assigned,
      holder: this.#holder,
      error: this.#error,
    };
  }

  get unused(): boolean {
    return this.#member === undefined && this.#run === undefined && this.#error === '';
  }

  get unreachable(): boolean {
    return this.#unreachable;
  }

  get outage(): boolean {
    return this.#unreachable || this.#mute || this.#silent;
  }

  get region(): string | undefined {
    return this.#member && (this.#member.region ?? '');
  }

  get labels(): Readonly<Record<string, string>> | undefined {
    return this.#member?.labels;
  }

  assign(replica: string, own: boolean): void {
    this.#assigned = replica;
    this.#wanted = own;
    this.#update('another replica serves the cluster');
  }

  /** Starts the cluster. A changed kubeconfig restarts the cluster with a new identity check. */
  engage(member: Member): void {
    const same = this.#member !== undefined && versionOf(this.#member) === versionOf(member);
    this.#member = member;
    if (!same) {
      this.#error = '';
      this.#setUnreachable(false);
      this.#stop('the kubeconfig has changed');
    }
    this.#update('');
  }

  refuse(problem: string): void {
    if (this.#state !== 'refused' || this.#error !== problem)
      this.#parts.log.error('Cluster refused, because its kubeconfig is unusable; other clusters are not affected', {
        cluster: this.#name,
        error: problem,
      });
    this.#without('refused', problem, new Error(problem));
  }

  handOver(reason: string): void {
    this.#setUnreachable(false);
    this.#without('handed-over', reason, new ClusterGone(reason));
  }

  #without(state: 'refused' | 'handed-over', text: string, end: Error): void {
    this.#member = undefined;
    this.#unserved = state;
    this.#error = text;
    this.#run?.abort(end);
    if (this.#run === undefined) this.#set(state);
  }

  deleting(): void {
    this.#deletion.abort();
  }

  async disengage(reason: Error): Promise<void> {
    this.#member = undefined;
    this.#wanted = false;
    this.#error = '';
    this.#setUnreachable(false);
    this.#run?.abort(reason);
    // If a client creates the namespace again later, the new namespace counts as a new cluster.
    this.#deletion = new AbortController();
    this.#empty = false;
    await this.#running;
  }

  #stop(reason: string): void {
    this.#run?.abort(new Error(reason));
  }

  #update(reason: string): void {
    if (this.#member === undefined) return;
    if (this.#wanted === this.#probing) this.#stop(reason);
    if (this.#empty) return;
    if (this.#wanted && this.#run === undefined) this.#running = this.#loop();
    if (this.#run === undefined) this.#set('elsewhere');
  }

  #setUnreachable(unreachable: boolean): void {
    if (this.#unreachable === unreachable) return;
    this.#unreachable = unreachable;
    this.#parts.reachChanged();
  }

  async #loop(): Promise<void> {
    for (let failures = 0; this.#member !== undefined && !this.#empty && (this.#wanted || this.#unreachable); ) {
      const run = new AbortController();
      this.#run = run;
      if (!this.#wanted) {
        await this.#probe(this.#member, run.signal);
        continue;
      }
      const servedMs = await this.#once(this.#member, run.signal);
      if (this.#sleep !== undefined) {
        this.#set('hibernated');
        await this.#endSleep(this.#sleep, run.signal);
        this.#sleep = undefined;
        failures = 0;
        continue;
      }
      if (run.signal.aborted || this.#empty) {
        failures = 0;
        continue;
      }
      failures = servedMs > STABLE_MS ? 1 : failures + 1;
      // A single failure can be a short outage for all replicas, so a cluster counts as unreachable only after two
      // failures.
      if (this.#silent && failures > 1) this.#setUnreachable(true);
      const retry = this.#silent ? RETRY_UNREACHABLE : RETRY;
      await pause(this.#parts.clock, backoffMs(retry, failures, this.#parts.random), run.signal);
    }
    this.#run = undefined;
    if (this.#empty) this.#set('stopping');
    else this.#set(this.#member === undefined && this.#error !== '' ? this.#unserved : 'elsewhere');
  }

  async #endSleep({ woken, leave }: Sleep, signal: AbortSignal): Promise<void> {
    await woken;
    if (!(signal.reason instanceof ClusterGone)) return;
    await leave?.().catch((error: unknown) => {
      this.#parts.log.warn('Cannot remove the finalizer of the Lease of a cluster that leaves the fleet', {
        cluster: this.#name,
        error: errorText(error),
      });
    });
  }

  async #probe(member: Member, signal: AbortSignal): Promise<void> {
    const { clock, random, probe } = this.#parts;
    this.#probing = true;
    this.#set('elsewhere');
    await pause(clock, PROBE_MS * (1 + RETRY.jitter * random.next()), signal);
    try {
      if (!signal.aborted)
        await probe(this.#runOf(member, { state: () => undefined, silent: () => undefined }, signal));
      if (!signal.aborted) this.#setUnreachable(false);
    } catch (error) {
      const lost = error instanceof Unreachable || error instanceof OtherCluster;
      if (!signal.aborted && !lost) this.#setUnreachable(false);
    }
    this.#probing = false;
  }

  #runOf(member: Member, progress: Progress, signal: AbortSignal): ClusterRun {
    const { elsewhere } = this.#parts;
    return {
      member,
      progress,
      memory: this.#memory,
      elsewhere: () => elsewhere(this.#name),
      share: () => this.#member?.share ?? 1,
      deletion: this.#deletion.signal,
      signal,
    };
  }

  async #once(member: Member, signal: AbortSignal): Promise<number> {
    const { serve, clock, log, failed } = this.#parts;
    let servedFrom: number | undefined;
    const progress: Progress = {
      state: (state, holder = '') => {
        if (state === 'serving') {
          servedFrom = clock.monotonic();
          if (this.#member !== undefined) this.#error = '';
        }
        this.#holder = holder;
        this.#set(state);
        if (state === 'waiting') this.#setUnreachable(false);
      },
      silent: (silent) => {
        this.#mute = silent;
      },
    };
    progress.state('starting');
    this.#silent = false;
    try {
      const end = await serve(this.#runOf(member, progress, signal));
      if (typeof end === 'object') this.#sleep = end;
      else if (!signal.aborted) this.#empty = end === 'empty';
      if (!signal.aborted && !this.#empty && this.#sleep === undefined)
        throw new Error('the controllers of the cluster ended unexpectedly');
    } catch (error) {
      if (!signal.aborted) {
        this.#silent = error instanceof Unreachable;
        this.#error = errorText(error);
        this.#holder = '';
        this.#set('failed');
        log.error(
          'Controllers of a cluster stopped because of an error; mcm retries; other clusters are not affected',
          {
            cluster: this.#name,
            error: this.#error,
          },
        );
        failed(member, reasonOf(error), this.#error);
      } else
        log.debug('Controllers of a cluster reported an error while they stopped', {
          cluster: this.#name,
          error: errorText(error),
        });
    }
    this.#mute = false;
    this.#holder = '';
    return servedFrom === undefined ? 0 : clock.monotonic() - servedFrom;
  }

  #set(state: ClusterState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#since = this.#parts.clock.now();
  }
}
