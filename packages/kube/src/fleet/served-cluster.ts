import { type BackoffOptions, backoffMs } from '../base/backoff.ts';
import { errorText } from '../base/error-text.ts';
import type { Random } from '../base/random.ts';
import { type Clock, pause } from '../clock/clock.ts';
import { KubeError } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';
import { ConfigError } from '../credentials/cluster-config.ts';
import type { ClusterState, ClusterStatus, FailureReason, Progress } from './cluster-state.ts';
import { OtherCluster } from './identity.ts';
import { type Member, versionOf } from './member.ts';

/** What a cluster keeps from one run to the next. */
export interface ClusterMemory {
  /** UID of the namespace kube-system. */
  uid: string | undefined;
}

/** One run of a cluster. */
export interface ClusterRun {
  readonly member: Member;
  readonly progress: Progress;
  readonly memory: ClusterMemory;
  /** Aborts when the cluster must stop. */
  readonly signal: AbortSignal;
}

/** Serves one cluster until the signal aborts. Rejects if the cluster must stop earlier. */
type Serve = (run: ClusterRun) => Promise<void>;

/** Thrown when a unit has lost its Lease. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** The parts that all clusters of a fleet share. */
export interface ServedClusterParts {
  readonly serve: Serve;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Called for each failure. */
  readonly failed: (member: Member, reason: FailureReason, error: string) => void;
}

const RETRY: BackoffOptions = { baseMs: 5_000, maxMs: 300_000, jitter: 0.2 };
/** A cluster that was served for this time starts again with the shortest delay. */
const STABLE_MS = 60_000;

const reasonOf = (error: unknown): FailureReason => {
  if (error instanceof ConfigError) return 'kubeconfig';
  if (error instanceof OtherCluster) return 'other-cluster';
  if (error instanceof LeaseLost) return 'lease-lost';
  return error instanceof KubeError ? 'unreachable' : 'other';
};

/** One cluster of the fleet: it runs while it is wanted, and stops, fails and starts again independently of the others. */
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

  /** True if nothing runs and the discovery does not know the cluster. */
  get unused(): boolean {
    return this.#member === undefined && this.#run === undefined && this.#error === '';
  }

  /** Sets the replica to which the cluster is assigned, and whether this process must serve it. */
  assign(replica: string, own: boolean): void {
    this.#assigned = replica;
    this.#wanted = own;
    this.#update('another replica serves the cluster');
  }

  /** Sets the kubeconfig. A changed one stops the cluster and starts it again with a new identity check. */
  engage(member: Member): void {
    const same = this.#member !== undefined && versionOf(this.#member) === versionOf(member);
    this.#member = member;
    if (!same) this.#stop('the kubeconfig has changed');
    if (!same) this.#error = '';
    this.#update('');
  }

  /** Stops the cluster, because it has no usable kubeconfig. */
  refuse(problem: string): void {
    if (this.#state !== 'refused' || this.#error !== problem)
      this.#parts.log.error('Cluster refused: no usable kubeconfig; other clusters continue', {
        cluster: this.#name,
        error: problem,
      });
    this.#member = undefined;
    this.#error = problem;
    this.#stop(problem);
    if (this.#run === undefined) this.#set('refused');
  }

  /** Stops the cluster. Resolves when its work has ended. */
  async disengage(reason: string): Promise<void> {
    this.#member = undefined;
    this.#wanted = false;
    this.#error = '';
    this.#stop(reason);
    await this.#running;
  }

  #stop(reason: string): void {
    this.#run?.abort(new Error(reason));
  }

  #update(reason: string): void {
    if (this.#member === undefined) return;
    if (!this.#wanted) this.#stop(reason);
    else if (this.#run === undefined) this.#running = this.#loop();
    if (this.#run === undefined) this.#set('elsewhere');
  }

  /** Runs the cluster, with retries, while it is wanted. A new run starts only after the previous one has ended. */
  async #loop(): Promise<void> {
    for (let failures = 0; this.#wanted && this.#member !== undefined; ) {
      const run = new AbortController();
      this.#run = run;
      const servedMs = await this.#once(this.#member, run.signal);
      if (run.signal.aborted) {
        failures = 0;
        continue;
      }
      failures = servedMs > STABLE_MS ? 1 : failures + 1;
      await pause(this.#parts.clock, backoffMs(RETRY, failures, this.#parts.random), run.signal);
    }
    this.#run = undefined;
    this.#set(this.#member === undefined && this.#error !== '' ? 'refused' : 'elsewhere');
  }

  /** @returns the time for which the cluster was served, in milliseconds */
  async #once(member: Member, signal: AbortSignal): Promise<number> {
    const { serve, clock, log, failed } = this.#parts;
    let servedFrom: number | undefined;
    const progress: Progress = {
      state: (state, holder = '') => {
        if (state === 'serving') {
          servedFrom = clock.monotonic();
          this.#error = '';
        }
        this.#holder = holder;
        this.#set(state);
      },
    };
    progress.state('starting');
    try {
      await serve({ member, progress, memory: this.#memory, signal });
      if (!signal.aborted) throw new Error('the controllers ended without a request to stop');
    } catch (error) {
      if (!signal.aborted) {
        this.#error = errorText(error);
        this.#holder = '';
        this.#set('failed');
        log.error('Cluster stopped by an error; mcm retries, and other clusters continue', {
          cluster: this.#name,
          error: this.#error,
        });
        failed(member, reasonOf(error), this.#error);
      } else log.debug('Cluster ended with an error during its stop', { cluster: this.#name, error: errorText(error) });
    }
    this.#holder = '';
    return servedFrom === undefined ? 0 : clock.monotonic() - servedFrom;
  }

  #set(state: ClusterState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#since = this.#parts.clock.now();
  }
}
