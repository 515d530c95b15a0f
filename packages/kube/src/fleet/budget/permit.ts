import type { Hold, LocalCluster } from './decide.ts';

/**
 * The state of a rollout. `wants` means that the rollout wants to start disruptions. `settled` means that no disruption
 * is in progress.
 */
export interface RolloutNeeds {
  readonly wants: boolean;
  readonly settled: boolean;
  readonly rollout: LocalCluster['rollout'];
}

/** Decides whether the rollouts of a cluster may start disruptions. */
export interface RolloutPermit {
  /** Returns the reason why the cluster must wait, or undefined if the cluster has a claim. */
  hold(): PermitHold | undefined;
  /** The controller must call `report` synchronously with its decision, without an `await` in between. */
  report(rollout: string, needs: RolloutNeeds): void;
  forget(rollout: string): void;
  onChange(listener: (rollouts: readonly string[]) => void): void;
}

export interface PermitHold {
  readonly because: string;
  readonly asked: boolean;
}

const isNone = ({ wants, settled, rollout }: RolloutNeeds): boolean => !wants && settled && rollout === 'none';

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
  readonly changed: () => void;
  readonly claimId: () => string | undefined;
  readonly because: (hold: Hold | undefined) => string;
}

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

  /** Changes the identity of the next claim, so that an outdated ConfigMap cannot confirm the claim. */
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
