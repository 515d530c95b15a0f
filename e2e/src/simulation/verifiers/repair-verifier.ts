import { isReadyPhase, type Machine, parseDurationMs } from '@mcm/api';
import { type Clock, controllerOf } from '@mcm/kube';

/** Nothing waits longer than this for a machine that is being made, unless its spec says another time. */
const PATIENCE_MS = 20 * 60_000;

/** One failed machine that was given up and is to be replaced. */
interface Repair {
  readonly set: string;
  readonly failed: string;
  readonly uid: string;
  /** It failed before it joined, without a rollout. The replacement ends when it is deleted and another machine is created. */
  readonly idle: boolean;
  /** UID of the machine that came in its place. */
  successor: string | undefined;
}

/** What the deployment allows at this moment. */
export interface Allowance {
  /** What a set is to have, by its UID. */
  readonly replicasOf: (setUid: string) => number;
  /** What the deployment is to have: each number that a decision may still rest on. */
  readonly replicas: readonly number[];
  readonly maxUnavailable: number;
  /** UIDs of machines whose nodes are selected for an update where they are, by whomever. */
  readonly selected: ReadonlySet<string>;
  /** The user deleted the machine. */
  readonly byHand: boolean;
}

const phaseOf = ({ status }: Machine): string => status?.currentStatus?.phase ?? '';
const setOf = (machine: Machine): string => controllerOf(machine)?.uid ?? '';
const isGoing = ({ metadata }: Machine): boolean => metadata.deletionTimestamp !== undefined;
const isAvailable = (machine: Machine): boolean => !isGoing(machine) && isReadyPhase(phaseOf(machine) as never);
const patienceOf = ({ spec }: Machine): number => parseDurationMs(spec.creationTimeout ?? '') ?? PATIENCE_MS;

/** From when on nothing waits for it; its time of creation, which is all that a controller knows, has no milliseconds. */
const lateAt = (machine: Machine): number => Date.parse(machine.metadata.creationTimestamp) + patienceOf(machine);

/** Whether the machine joined before it failed. */
const served = ({ status }: Machine): boolean =>
  !(status?.lastOperation?.type === 'Create' && status.lastOperation.state !== 'Successful');

/**
 * Counts the machines that use the disruption budget of a deployment, from the stored objects:
 * - failed machines in replacement, from the deletion until the new machine runs, fails, or exceeds its creation timeout,
 * - the machines that the rollout made unavailable.
 */
export class RepairVerifier {
  readonly #clock: Clock;
  readonly #machines = new Map<string, Machine>();
  #repairs: Repair[] = [];
  /** Machines that were given up for others of another set, as long as there are places without an available machine. */
  #given = 0;
  /** UIDs of machines whose update in place has come to its end, though their nodes are still selected. */
  readonly #updatedUids = new Set<string>();
  readonly #limit: number;

  /** @param limit `--max-unhealthy-replacements`. */
  constructor(clock: Clock, limit = 1) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** A machine that is new to the server. */
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

  /**
   * A machine as it is now.
   * @returns What is wrong, if by this change a decision has taken more than the deployment allows.
   */
  changed(before: Machine, machine: Machine, allowance: Allowance): string | undefined {
    const { replicasOf, byHand } = allowance;
    this.#machines.set(machine.metadata.uid, machine);
    this.#noteUpdate(before, machine);
    const set = setOf(machine);
    const decided = !isGoing(before) && isGoing(machine) && !byHand;
    const refills = this.#alive(set) < replicasOf(set);
    // A set that is to have the whole deployment gives no place to another one: it only becomes smaller.
    const carries = replicasOf(set) >= Math.min(...allowance.replicas);
    if (decided && !refills && !carries) this.#given++;
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
    if (names.length > this.#limit) return `${names.join(' and ')} were being replaced at once`;
    // What is updated where it is takes a place of the budget that a repair may not have, too.
    const updated = repaired ? this.#updated(selected) : [];
    const down = updated.filter((machine) => !isAvailable(machine)).length;
    const short = Math.max(Math.min(...replicas.map((count) => this.#short(count))) - down, 0);
    const unavailable = Math.min(this.#given, short) + updated.length;
    // Where no rollout stands, the limit is all there is to keep to.
    if (unavailable === 0 && !this.#rolls()) return undefined;
    const allowed = Math.max(...replicas.map((count) => Math.min(maxUnavailable, count)), 1);
    if (names.length + unavailable <= allowed) return undefined;
    const where = updated.length > 0 ? ` (${updated.length} of them updated in place)` : '';
    return `${names.join(' and ') || 'nothing'} was being replaced while the rollout had ${unavailable} unavailable${where}: ${allowed} may be in all`;
  }

  #noteUpdate(before: Machine, machine: Machine): void {
    const { uid } = machine.metadata;
    if (phaseOf(machine) === 'InPlaceUpdating' || setOf(before) !== setOf(machine)) this.#updatedUids.delete(uid);
    if (phaseOf(before) === 'InPlaceUpdateSuccessful' && isAvailable(machine)) this.#updatedUids.add(uid);
  }

  /** Machines that are being updated where they are; one whose update failed has given its place back. */
  #updated(selected: ReadonlySet<string>): Machine[] {
    return [...this.#machines.values()].filter(
      (machine) =>
        selected.has(machine.metadata.uid) &&
        !this.#updatedUids.has(machine.metadata.uid) &&
        !isGoing(machine) &&
        !['Failed', 'Unknown', 'InPlaceUpdateFailed'].includes(phaseOf(machine)),
    );
  }

  /** Machines of several templates stand. */
  #rolls(): boolean {
    return new Set([...this.#machines.values()].map(setOf)).size > 1;
  }

  /** The number of missing machines without a pending or running replacement. */
  #short(replicas: number): number {
    const now = this.#clock.now().getTime();
    const waits = (machine: Machine) => {
      if (isGoing(machine)) return false;
      const phase = phaseOf(machine);
      const late = lateAt(machine) <= now;
      return ['Failed', 'Unknown'].includes(phase) || (late && ['', 'Pending', 'CrashLoopBackOff'].includes(phase));
    };
    const filled = [...this.#machines.values()].filter((machine) => isAvailable(machine) || waits(machine)).length;
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
      // What was given up in its turn leaves the place as empty as before.
      if (!successor || isGoing(successor)) return false;
      const over = isReadyPhase(phaseOf(successor) as never) || phaseOf(successor) === 'Failed';
      return !over && lateAt(successor) > now;
    });
  }

  /** A set that became smaller replaces no more than it lacks. */
  #dropSurplus(changed: string, replicas: number): void {
    const open = Math.max(replicas - this.#alive(changed), 0);
    const waiting = this.#repairs.filter(({ set, successor }) => set === changed && !successor);
    const dropped = new Set(waiting.slice(0, Math.max(waiting.length - open, 0)));
    this.#repairs = this.#repairs.filter((repair) => !dropped.has(repair));
  }
}
