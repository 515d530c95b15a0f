import type { Reporter } from '@mcm/conformance/fleet';
import type { VirtualClock } from '@mcm/kube';
import { BOUNDS } from '../record/bounds.ts';
import { PROGRAMS, type ProgramName } from './replica.ts';

const LOOK_MS = 1_000;

interface ServedParts {
  readonly clock: VirtualClock;
  readonly reporter: Reporter;
  readonly leaseMs: number;
  readonly clusters: () => readonly string[];
  readonly serves: (program: ProgramName, cluster: string) => boolean;
  readonly holds: (program: ProgramName, cluster: string) => boolean;
  readonly hindered: (program: ProgramName, cluster: string) => boolean;
  readonly handedOver: () => Iterable<readonly [cluster: string, sinceMs: number]>;
  readonly describe: () => string;
}

/** Verifies that after the last fault, each cluster is served within a time limit. */
export class ServedVerifier {
  readonly #o: ServedParts;
  readonly #dueAt = new Map<string, number>();
  readonly #late = new Set<string>();
  #allDueAt = 0;
  /** How often the verifier has checked that a cluster is served. */
  verified = 0;

  constructor(parts: ServedParts) {
    this.#o = parts;
    this.processesChanged();
  }

  /** Must be called after a process has started or ended, and after a change of the assignment. */
  processesChanged(): void {
    this.#allow(BOUNDS.fleetServed.ms);
  }

  /** Must be called after a connection has failed or works again. */
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

  /** Verifies that no replica serves a cluster that was handed over, paused or removed from the fleet. */
  #lookAtHandedOver(): void {
    const { clock, leaseMs, handedOver, holds, reporter } = this.#o;
    for (const [cluster, sinceMs] of handedOver())
      for (const program of PROGRAMS) {
        if (clock.monotonic() - sinceMs <= BOUNDS.fleetReached.ms + leaseMs || !holds(program, cluster)) continue;
        reporter.violate(`a ${program} serves cluster ${cluster}, which the fleet must not serve`);
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
