import type { Hold, LocalCluster } from './decide.ts';

/** The needs of one rollout in a cluster. */
export interface RolloutNeeds {
  /** Whether the next step of the rollout disrupts machines. */
  readonly wants: boolean;
  /** Whether all disruptions of this rollout are complete. */
  readonly settled: boolean;
  readonly rollout: LocalCluster['rollout'];
}

/** Decides whether the rollouts of a cluster may start disruptions. Each run of the controllers has one permit. */
export interface RolloutPermit {
  /** Returns the reason why the cluster must wait, or undefined if the cluster has a claim. */
  hold(): PermitHold | undefined;
  /**
   * Reports the needs of a rollout. The controller must call `report` synchronously with its decision, without an
   * `await` in between.
   */
  report(rollout: string, needs: RolloutNeeds): void;
  forget(rollout: string): void;
  /** Calls `listener` after each change of `hold`, with the waiting rollouts. */
  onChange(listener: (rollouts: readonly string[]) => void): void;
}

export interface PermitHold {
  /** The reason of the wait, as a part of a sentence. */
  readonly because: string;
  /**
   * True until the rollout budget has decided for the first time. The status of an object does not report this short
   * wait.
   */
  readonly asked: boolean;
}

const isNone = ({ wants, settled, rollout }: RolloutNeeds): boolean => !wants && settled && rollout === 'none';

/** The order of rollout states. A cluster with several rollouts has the state with the highest rank. */
const RANKS: readonly LocalCluster['rollout'][] = ['none', 'rolling', 'failed', 'undoing'];

interface Sums {
  wants: number;
  unsettled: number;
  readonly rollouts: Map<LocalCluster['rollout'], number>;
}

export interface PermitParts {
  readonly cluster: string;
  readonly identity: string;
  readonly nowMs: () => number;
  /** Called after a change that the rollout budget must record. */
  readonly changed: () => void;
  /** Returns the identity of the claim in the ConfigMap. */
  readonly claimId: () => string | undefined;
  readonly because: (hold: Hold | undefined) => string;
}

/** After this time, the controllers of a cluster know all its rollouts. */
const KNOWN_AFTER_MS = 60_000;

export class ClusterPermit implements RolloutPermit {
  readonly #p: PermitParts;
  readonly #needs = new Map<string, RolloutNeeds>();
  readonly #sums: Sums = { wants: 0, unsettled: 0, rollouts: new Map() };
  readonly #startedMs: number;
  #wantsSince = 0;
  #number = 1;
  #decided: Hold | undefined;
  #told = '';
  #listener: (rollouts: readonly string[]) => void = () => undefined;

  constructor(parts: PermitParts) {
    this.#p = parts;
    this.#startedMs = parts.nowMs();
  }

  /** Returns the monotonic time from which all rollouts of the cluster are known. */
  get knownAtMs(): number {
    return this.#startedMs + KNOWN_AFTER_MS;
  }

  get #id(): string {
    return `${this.#p.identity}/${this.#number}`;
  }

  local(canary: boolean): LocalCluster {
    const { wants, unsettled, rollouts } = this.#sums;
    return {
      name: this.#p.cluster,
      id: this.#id,
      canary,
      known: this.#p.nowMs() >= this.knownAtMs,
      wants: wants > 0,
      wantsSince: this.#wantsSince,
      settled: unsettled === 0,
      rollout: RANKS.findLast((rollout) => (rollouts.get(rollout) ?? 0) > 0) ?? 'none',
    };
  }

  hold(): PermitHold | undefined {
    if (this.#p.claimId() === this.#id) return undefined;
    return { because: this.#p.because(this.#decided), asked: this.#decided === undefined };
  }

  report(rollout: string, reported: RolloutNeeds): void {
    const before = this.#needs.get(rollout);
    // If a rollout is undone, the undo also counts as a rollout.
    const undoes = before?.rollout === 'undoing' && reported.rollout === 'rolling';
    const needs: RolloutNeeds = undoes ? { ...reported, rollout: 'undoing' } : reported;
    if (JSON.stringify(before) === JSON.stringify(needs)) return;
    if (before === undefined && isNone(needs)) return;
    const wanted = this.#sums.wants > 0;
    this.#put(rollout, needs);
    if (!wanted && this.#sums.wants > 0) this.#wantsSince = this.#p.nowMs();
    this.#p.changed();
  }

  forget(rollout: string): void {
    if (!this.#needs.has(rollout)) return;
    this.#put(rollout, undefined);
    this.#p.changed();
  }

  onChange(listener: (rollouts: readonly string[]) => void): void {
    this.#listener = listener;
  }

  /** Ends the claim. The next claim has another identity, so an outdated ConfigMap never confirms it. */
  released(): void {
    this.#number += 1;
  }

  get waitsFor(): Hold | undefined {
    if (this.#sums.wants === 0 || this.hold() === undefined) return undefined;
    return this.#decided ?? 'asked';
  }

  decided(hold: Hold | undefined): void {
    this.#decided = hold;
  }

  tell(): void {
    const hold = this.hold();
    const now = hold?.asked === true ? 'asked' : (hold?.because ?? '');
    if (now === this.#told) return;
    this.#told = now;
    if (hold?.asked === true) return;
    const waiting = [...this.#needs].flatMap(([rollout, { wants }]) => (wants ? [rollout] : []));
    if (waiting.length > 0) this.#listener(waiting);
  }

  #put(rollout: string, needs: RolloutNeeds | undefined): void {
    const old = this.#needs.get(rollout);
    if (old !== undefined) this.#add(old, -1);
    if (needs === undefined || isNone(needs)) this.#needs.delete(rollout);
    else {
      this.#needs.set(rollout, needs);
      this.#add(needs, 1);
    }
  }

  #add({ wants, settled, rollout }: RolloutNeeds, by: 1 | -1): void {
    const sums = this.#sums;
    if (wants) sums.wants += by;
    if (!settled) sums.unsettled += by;
    sums.rollouts.set(rollout, (sums.rollouts.get(rollout) ?? 0) + by);
  }
}
