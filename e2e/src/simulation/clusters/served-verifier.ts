import type { Reporter } from '@mcm/conformance/fleet';
import type { VirtualClock } from '@mcm/kube';
import { BOUNDS } from '../record/bounds.ts';
import { PROGRAMS, type ProgramName } from './replica.ts';

const LOOK_MS = 1_000;

interface ServedParts {
  readonly clock: VirtualClock;
  readonly reporter: Reporter;
  /** The duration of the longest Lease. The verifier adds this duration to the bounds. */
  readonly leaseMs: number;
  /** The clusters that must be served. */
  readonly clusters: () => readonly string[];
  readonly serves: (program: ProgramName, cluster: string) => boolean;
  /** Whether a replica that runs has the controllers of the cluster. */
  readonly holds: (program: ProgramName, cluster: string) => boolean;
  /** Whether a fault prevents all replicas from serving the cluster. */
  readonly hindered: (program: ProgramName, cluster: string) => boolean;
  /** The clusters that no replica may serve, with the monotonic time since which the fleet knows it. */
  readonly handedOver: () => Iterable<readonly [cluster: string, sinceMs: number]>;
  readonly describe: () => string;
}

/** Verifies that a replica serves each cluster within a bound after the last fault. */
export class ServedVerifier {
  readonly #o: ServedParts;
  /** The time until which each cluster may have no replica, by program and cluster. */
  readonly #dueAt = new Map<string, number>();
  readonly #late = new Set<string>();
  #allDueAt = 0;
  /** The number of checks in which a cluster had to be served. */
  verified = 0;

  constructor(parts: ServedParts) {
    this.#o = parts;
    this.processesChanged();
  }

  /** `processesChanged` is called after a process has started or ended, and after a change of the assignment. */
  processesChanged(): void {
    this.#allow(BOUNDS.fleetServed.ms);
  }

  /** `connectionsChanged` is called after a connection has failed or works again. */
  connectionsChanged(): void {
    this.#allow(BOUNDS.fleetReached.ms);
  }

  #allow(ms: number): void {
    this.#allDueAt = Math.max(this.#allDueAt, this.#o.clock.monotonic() + ms + this.#o.leaseMs);
  }

  watch(signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#look();
    this.#o.clock.setTimeout(() => this.watch(signal), LOOK_MS);
  }

  /** Verifies that no replica serves a cluster with its own process. */
  #lookAtHandedOver(): void {
    const { clock, leaseMs, handedOver, holds, reporter } = this.#o;
    for (const [cluster, sinceMs] of handedOver())
      for (const program of PROGRAMS) {
        if (clock.monotonic() - sinceMs <= BOUNDS.fleetReached.ms + leaseMs || !holds(program, cluster)) continue;
        reporter.violate(`a ${program} serves cluster ${cluster}, which the fleet handed over`);
      }
  }

  #look(): void {
    this.#lookAtHandedOver();
    const { clock, leaseMs, clusters, serves, hindered, reporter, describe } = this.#o;
    const now = clock.monotonic();
    for (const cluster of clusters())
      for (const program of PROGRAMS) {
        const key = `${program} ${cluster}`;
        if (hindered(program, cluster)) this.#dueAt.set(key, now + BOUNDS.fleetReached.ms + leaseMs);
        if (now <= Math.max(this.#allDueAt, this.#dueAt.get(key) ?? 0)) continue;
        this.verified += 1;
        if (serves(program, cluster)) this.#late.delete(key);
        else if (!this.#late.has(key)) {
          this.#late.add(key);
          reporter.violate(`no ${program} serves cluster ${cluster} in time\n${describe()}`);
        }
      }
  }
}
