import { Annotations, type Machine } from '@mcm/api';
import { type Clock, controllerOf } from '@mcm/kube';
import { RepairVerifier } from './repair-verifier.ts';

/** The size that a user requested, and the allowed deviation during a rollout. */
export interface Wish {
  readonly replicas: number;
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

interface Selection {
  readonly set: string | undefined;
  readonly selectedAt: number;
}

/** The limits of a fleet, and the sizes of its sets in the API server. */
export interface FleetVerifierOptions {
  readonly clock: Clock;
  readonly replicasOf: (setUid: string) => number;
  readonly largestSince: (setUid: string, since: number) => number;
  readonly reducedAt: (setUid: string) => number | undefined;
  readonly totalOf: (setUid: string) => number;
  readonly limit: number;
  readonly patienceMs?: number | undefined;
  readonly lagMs: () => number;
  readonly violate: (text: string) => void;
}

/** Returns the phase of a machine, or `new` for a machine without a phase. */
export const phaseOf = (machine: Machine | undefined): string => machine?.status?.currentStatus?.phase || 'new';
const isAvailable = (machine: Machine): boolean =>
  machine.metadata.deletionTimestamp === undefined && phaseOf(machine) === 'Running';

/** Verifies the machines of one deployment against the requests of its user. */
export class FleetVerifier {
  readonly #o: FleetVerifierOptions;
  readonly #machines = new Map<string, Machine>();
  readonly #selected = new Map<string, Selection>();
  readonly #lostAt = new Map<string, number>();
  readonly #failedUntil = new Map<string, number>();
  #wishes: { readonly since: number; readonly wish: Wish }[] = [];
  readonly #repairs: RepairVerifier;

  constructor(options: FleetVerifierOptions) {
    this.#o = options;
    this.#repairs = new RepairVerifier(options.clock, options.limit, options.patienceMs);
  }

  get #now(): number {
    return this.#o.clock.now().getTime();
  }

  wishes(wish: Wish): void {
    this.#wishes.push({ since: this.#now, wish });
  }

  /**
   * Records a change of a node's selection for an update.
   * @param byHand Whether the user selected the node.
   * @returns whether the node was not selected before.
   */
  selects(name: string, on: boolean, byHand: boolean): boolean {
    const machine = this.#machines.get(name);
    if (!on) this.#selected.delete(name);
    if (!on || this.#selected.has(name)) return false;
    if (!byHand && machine && isAvailable(machine)) this.#decided(name, 'was selected');
    this.#selected.set(name, { set: machine && controllerOf(machine)?.uid, selectedAt: this.#now });
    return true;
  }

  /**
   * Returns true if the node of a machine is selected for an update. After the update, the node keeps its label for a
   * short time, although the machine already belongs to its new set.
   */
  #isSelected(machine: Machine): boolean {
    const selection = this.#selected.get(machine.metadata.name);
    return selection !== undefined && selection.set === controllerOf(machine)?.uid;
  }

  /** Returns the UIDs of machines whose selection the controllers must already know. */
  #knownSelections(): ReadonlySet<string> {
    const now = this.#now;
    const lagMs = this.#o.lagMs();
    const known = [...this.#machines.values()].filter((machine) => {
      const { selectedAt = now } = this.#selected.get(machine.metadata.name) ?? {};
      return this.#isSelected(machine) && selectedAt + lagMs <= now;
    });
    return new Set(known.map(({ metadata }) => metadata.uid));
  }

  /** Records the state of a machine after the server was restored to an older state. */
  relearns(machine: Machine, isGone: boolean): void {
    if (isGone) this.#machines.delete(machine.metadata.name);
    else this.#machines.set(machine.metadata.name, machine);
    this.#lostAt.delete(machine.metadata.uid);
  }

  gone(machine: Machine): void {
    this.#machines.delete(machine.metadata.name);
    this.#failedUntil.delete(machine.metadata.uid);
    this.#repairs.gone(machine);
  }

  appeared(machine: Machine): void {
    this.#machines.set(machine.metadata.name, machine);
    this.#repairs.appeared(machine);
    const alive = [...this.#machines.values()].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const most = this.#most();
    if (alive.length > most && !this.#isOfSet(machine, alive)) {
      this.#o.violate(`${alive.length} machines are not terminating, more than the limit of ${most}`);
    }
  }

  #most(): number {
    return Math.max(...this.#recentWishes().map(({ replicas, maxSurge }) => replicas + maxSurge));
  }

  /** Returns true if the set may create a machine because machines are missing, as a ReplicaSet does. */
  #isOfSet(machine: Machine, alive: readonly Machine[]): boolean {
    const set = controllerOf(machine)?.uid;
    if (set === undefined) return false;
    const own = alive.filter((one) => controllerOf(one)?.uid === set).length;
    return own <= this.#o.largestSince(set, this.#now - this.#o.lagMs());
  }

  /** @param total The total size of all sets of the deployment. */
  grows(name: string, total: number): void {
    const most = this.#most();
    if (total > most)
      this.#o.violate(`MachineSet ${name} grew, so all sets have ${total} machines, more than the limit of ${most}`);
  }

  changed(before: Machine, machine: Machine, byHand: boolean): void {
    const { name, uid } = machine.metadata;
    this.#machines.set(name, machine);
    const deleted = !before.metadata.deletionTimestamp && machine.metadata.deletionTimestamp !== undefined;
    if (phaseOf(before) === 'Failed' && phaseOf(machine) !== 'Failed') this.#failedUntil.set(uid, this.#now);
    this.#verifyRepair(before, machine, byHand);
    if (isAvailable(machine)) this.#lostAt.delete(uid);
    if (!isAvailable(before) || isAvailable(machine)) return;
    const isInterrupted = machine.metadata.annotations?.[Annotations.Interruption] !== undefined;
    if (deleted && !byHand && !isInterrupted) this.#decided(name, 'was deleted');
    else this.#lostAt.set(uid, this.#now);
  }

  /**
   * Verifies the limit of replacements, which is `--max-unhealthy-replacements`. During a rollout, the disruption
   * budget of the deployment is a second limit.
   */
  #verifyRepair(before: Machine, machine: Machine, byHand: boolean): void {
    const wishes = this.#recentWishes();
    const wrong = this.#repairs.changed(before, machine, {
      replicasOf: this.#o.replicasOf,
      replicas: wishes.map(({ replicas }) => replicas),
      maxUnavailable: Math.max(...wishes.map(({ maxUnavailable }) => maxUnavailable)),
      selected: this.#knownSelections(),
      byHand,
      isIdleSurplus: this.#isIdleSurplus(before, wishes),
    });
    if (wrong !== undefined) this.#o.violate(wrong);
  }

  /**
   * Returns true if a deleted machine is surplus, and may have been Failed in the manager's cache when the manager
   * reduced the set. If the machine recovers later, the manager does not change its decision.
   */
  #isIdleSurplus(machine: Machine, wishes: readonly Wish[]): boolean {
    const set = controllerOf(machine)?.uid;
    if (set === undefined || this.#o.totalOf(set) < Math.max(...wishes.map(({ replicas }) => replicas))) return false;
    const since = Math.min(this.#now, this.#reducedAt(machine.metadata.name)) - this.#o.lagMs();
    return phaseOf(machine) === 'Failed' || (this.#failedUntil.get(machine.metadata.uid) ?? 0) > since;
  }

  /**
   * Verifies that enough machines remain available when mcm makes an available machine unavailable.
   * - The verifier accepts that mcm does not yet know about the loss of a machine that was just lost.
   * - A set with too many machines deletes the surplus machines, like a ReplicaSet, even if a user deletes another
   *   machine meanwhile.
   * - If the sets are smaller than the current request allows, only the current request counts, even if an earlier
   *   request was lower.
   */
  #decided(name: string, how: string): void {
    const since = Math.min(this.#now, this.#reducedAt(name)) - this.#o.lagMs();
    const set = this.#setOf(name);
    const now = this.#least(this.#recentWishes());
    const areSizesOld = set === undefined || this.#o.totalOf(set) < now;
    const least = areSizesOld ? now : this.#least(this.#recentWishes(since));
    const lost = [...this.#lostAt.values()].filter((at) => at > since).length;
    const stays = (one: Machine) => one.metadata.name !== name && !this.#isSelected(one);
    const others = [...this.#machines.values()].filter((one) => isAvailable(one) && stays(one)).length;
    if (others + lost < least) {
      this.#o.violate(
        `machine ${name} ${how} while ${others} other machines are available and ${lost} just became unavailable, but the deployment needs ${least}`,
      );
    }
  }

  #least(wishes: readonly Wish[]): number {
    return Math.min(...wishes.map(({ replicas, maxUnavailable }) => replicas - maxUnavailable));
  }

  #setOf(name: string): string | undefined {
    const machine = this.#machines.get(name);
    return machine && controllerOf(machine)?.uid;
  }

  #reducedAt(name: string): number {
    const set = this.#setOf(name);
    if (set === undefined) return this.#now;
    const own = [...this.#machines.values()].filter((one) => isAvailable(one) && controllerOf(one)?.uid === set).length;
    // The deleted machine is no longer available.
    return own >= this.#o.replicasOf(set) ? (this.#o.reducedAt(set) ?? this.#now) : this.#now;
  }

  #recentWishes(since = this.#now - this.#o.lagMs()): Wish[] {
    const last = this.#wishes.findLastIndex((entry) => entry.since <= since);
    return this.#wishes.slice(Math.max(last, 0)).map(({ wish }) => wish);
  }
}
