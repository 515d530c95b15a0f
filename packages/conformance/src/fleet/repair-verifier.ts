import { counted, isReadyPhase, type Machine, parseDurationMs, phaseOf } from '@mcm/api';
import { type Clock, controllerOf } from '@mcm/kube';

interface Repair {
  readonly set: string;
  readonly failed: string;
  readonly uid: string;
  readonly idle: boolean;
  successor: string | undefined;
}

/** The current limits of a deployment. */
export interface Allowance {
  readonly replicasOf: (setUid: string) => number;
  readonly replicas: readonly number[];
  readonly maxUnavailable: number;
  readonly selected: ReadonlySet<string>;
  readonly byHand: boolean;
  /** Whether no set may grow after the deletion of a machine that the controllers may still consider as Failed. */
  readonly isIdleSurplus?: boolean;
}

const setOf = (machine: Machine): string => controllerOf(machine)?.uid ?? '';
const isGoing = ({ metadata }: Machine): boolean => metadata.deletionTimestamp !== undefined;
const isAvailable = (machine: Machine): boolean => !isGoing(machine) && isReadyPhase(phaseOf(machine));
const CREATION_TIMEOUT_MS = 20 * 60_000;

const served = ({ status }: Machine): boolean =>
  !(status?.lastOperation?.type === 'Create' && status.lastOperation.state !== 'Successful');

/**
 * Counts the machines that use the disruption budget of a deployment, from the stored objects:
 * - failed machines that are being replaced: from the deletion until the new machine runs, fails, or exceeds its
 *   creation timeout
 * - machines that the rollout made unavailable
 */
export class RepairVerifier {
  readonly #clock: Clock;
  readonly #machines = new Map<string, Machine>();
  #repairs: Repair[] = [];
  /** The number of machines that a rollout deleted while machines were missing, so that the current set can grow. */
  #given = 0;
  /** The UIDs of machines whose in-place update has ended, while their nodes are still selected. */
  readonly #updatedUids = new Set<string>();
  readonly #limit: number;
  readonly #patienceMs: number;

  constructor(clock: Clock, limit = 1, patienceMs = CREATION_TIMEOUT_MS) {
    this.#clock = clock;
    this.#limit = limit;
    this.#patienceMs = patienceMs;
  }

  /**
   * Returns the time at which the machine exceeds its creation timeout. The API server rounds the creation time to
   * seconds.
   */
  #lateAt({ metadata, spec }: Machine): number {
    return Date.parse(metadata.creationTimestamp) + (parseDurationMs(spec.creationTimeout ?? '') ?? this.#patienceMs);
  }

  appeared(machine: Machine): void {
    this.#machines.set(machine.metadata.uid, machine);
    const empty = this.#repairs.filter(({ set, successor }) => set === setOf(machine) && !successor);
    const open = empty.find(({ idle }) => !idle) ?? empty[0];
    if (!open) return;
    open.successor = machine.metadata.uid;
    if (open.idle && !this.#machines.has(open.uid)) this.#repairs = this.#repairs.filter((repair) => repair !== open);
  }

  gone({ metadata }: Machine): void {
    this.#machines.delete(metadata.uid);
    this.#updatedUids.delete(metadata.uid);
    this.#repairs = this.#repairs.filter(({ idle, uid, successor }) => !(idle && successor && uid === metadata.uid));
  }

  /** @returns a sentence if the change exceeds a limit of the deployment. */
  changed(before: Machine, machine: Machine, allowance: Allowance): string | undefined {
    const { replicasOf, byHand, isIdleSurplus = false } = allowance;
    this.#machines.set(machine.metadata.uid, machine);
    this.#noteUpdate(before, machine);
    const set = setOf(machine);
    const decided = !isGoing(before) && isGoing(machine) && !byHand;
    const refills = this.#alive(set) < replicasOf(set);
    // If a set has the size of the whole deployment, deletions from this set do not let another set grow.
    const carries = replicasOf(set) >= Math.min(...allowance.replicas);
    // The deletion of an unavailable machine makes no machine unavailable, so the deletion does not count.
    const wasAway = isIdleSurplus || this.#isJoining(before) || this.#isUnreachable(before, allowance);
    if (decided && !refills && !carries && !wasAway) this.#given++;
    const repaired = decided && refills && phaseOf(before) === 'Failed';
    if (repaired) {
      const { name: failed, uid } = machine.metadata;
      this.#repairs.push({ set, failed, uid, idle: !served(before) && !this.#rolls(), successor: undefined });
    }
    this.#settle();
    for (const one of new Set(this.#repairs.map((repair) => repair.set))) this.#dropSurplus(one, replicasOf(one));
    this.#given = Math.min(this.#given, Math.min(...allowance.replicas.map((replicas) => this.#short(replicas))));
    return decided ? this.#verdict(allowance, repaired) : undefined;
  }

  #verdict({ replicas, maxUnavailable, selected }: Allowance, repaired: boolean): string | undefined {
    const names = this.#repairs.map(({ failed }) => failed);
    if (names.length > this.#limit) return `mcm replaced ${names.join(' and ')} at the same time`;
    // A machine in an in-place update uses the disruption budget for replacements, unless another machine already
    // replaces it.
    const updated = repaired ? this.#updated(selected) : new Set<Machine>();
    const short = Math.min(...replicas.map((count) => this.#short(count, updated)));
    const unavailable = Math.min(this.#given + updated.size, short);
    // Without a rollout, only `--max-unhealthy-replacements` applies.
    if (unavailable === 0 && !this.#rolls()) return undefined;
    const largest = Math.max(...replicas);
    // If a set has more machines than replicas, it deletes failed machines first.
    const allowed = Math.max(...replicas.map((count) => Math.min(maxUnavailable, count) + largest - count), 1);
    if (names.length + unavailable <= allowed) return undefined;
    const where = updated.size > 0 ? ` (${Math.min(updated.size, unavailable)} by in-place updates)` : '';
    return `mcm replaced ${names.join(' and ') || 'nothing'} while the rollout made ${counted(unavailable, 'machine')} unavailable${where}, more than the limit of ${allowed}`;
  }

  /**
   * Returns true if the machine was unreachable, and the other machines are enough if all of them become available. In
   * old sets, a rollout deletes unavailable machines first, because this deletion makes no machine unavailable.
   */
  #isUnreachable(before: Machine, { replicas, maxUnavailable }: Allowance): boolean {
    const remaining = [...this.#machines.values()].filter((machine) => !isGoing(machine)).length;
    return phaseOf(before) === 'Unknown' && remaining >= Math.min(...replicas) - maxUnavailable;
  }

  #isJoining(machine: Machine): boolean {
    return (
      ['', 'Pending', 'CrashLoopBackOff'].includes(phaseOf(machine) ?? '') &&
      this.#lateAt(machine) > this.#clock.now().getTime()
    );
  }

  #noteUpdate(before: Machine, machine: Machine): void {
    const { uid } = machine.metadata;
    if (phaseOf(machine) === 'InPlaceUpdating' || setOf(before) !== setOf(machine)) this.#updatedUids.delete(uid);
    if (phaseOf(before) === 'InPlaceUpdateSuccessful' && isAvailable(machine)) this.#updatedUids.add(uid);
  }

  /** Returns the machines in an in-place update. */
  #updated(selected: ReadonlySet<string>): ReadonlySet<Machine> {
    const updated = [...this.#machines.values()].filter(
      (machine) =>
        selected.has(machine.metadata.uid) &&
        !this.#updatedUids.has(machine.metadata.uid) &&
        !isGoing(machine) &&
        !['Failed', 'Unknown', 'InPlaceUpdateFailed'].includes(phaseOf(machine) ?? ''),
    );
    return new Set(updated);
  }

  #rolls(): boolean {
    return new Set([...this.#machines.values()].map(setOf)).size > 1;
  }

  /**
   * Returns the number of missing machines for which no replacement is pending or running.
   * @param updated Machines that do not count as available.
   */
  #short(replicas: number, updated: ReadonlySet<Machine> = new Set()): number {
    const now = this.#clock.now().getTime();
    const waits = (machine: Machine) => {
      if (isGoing(machine)) return false;
      const phase = phaseOf(machine) ?? '';
      const late = this.#lateAt(machine) <= now;
      return ['Failed', 'Unknown'].includes(phase) || (late && ['', 'Pending', 'CrashLoopBackOff'].includes(phase));
    };
    const fills = (machine: Machine) => (isAvailable(machine) && !updated.has(machine)) || waits(machine);
    const filled = [...this.#machines.values()].filter(fills).length;
    return Math.max(replicas - filled - this.#repairs.length, 0);
  }

  #alive(set: string): number {
    return [...this.#machines.values()].filter((machine) => setOf(machine) === set && !isGoing(machine)).length;
  }

  #settle(): void {
    const now = this.#clock.now().getTime();
    this.#repairs = this.#repairs.filter((repair) => {
      if (!repair.successor) return true;
      const successor = this.#machines.get(repair.successor);
      // If the replacement was also deleted, the machine is still missing.
      if (!successor || isGoing(successor)) return false;
      const over = isReadyPhase(phaseOf(successor)) || phaseOf(successor) === 'Failed';
      return !over && this.#lateAt(successor) > now;
    });
  }

  /**
   * Forgets the pending replacements that exceed the missing machines of a set. A smaller set needs fewer replacements.
   */
  #dropSurplus(changed: string, replicas: number): void {
    const open = Math.max(replicas - this.#alive(changed), 0);
    const waiting = this.#repairs.filter(({ set, successor }) => set === changed && !successor);
    const dropped = new Set(waiting.slice(0, Math.max(waiting.length - open, 0)));
    this.#repairs = this.#repairs.filter((repair) => !dropped.has(repair));
  }
}
