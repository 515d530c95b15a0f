import { isReadyPhase, type Machine } from '@mcm/api';
import { type Clock, controllerOf } from '@mcm/kube';

/** Nothing waits longer than this for a machine that is being made. */
const PATIENCE_MS = 20 * 60_000;

/** One failed machine that was given up and is to be replaced. */
interface Repair {
  readonly set: string;
  readonly failed: string;
  /** Name and UID of the machine that came in its place. */
  successor: { readonly uid: string; readonly since: number } | undefined;
}

const phaseOf = ({ status }: Machine): string => status?.currentStatus?.phase ?? '';
const setOf = (machine: Machine): string => controllerOf(machine)?.uid ?? '';
const isGoing = ({ metadata }: Machine): boolean => metadata.deletionTimestamp !== undefined;

/** A machine that never joined served nobody: its replacement disrupts nothing. */
const served = ({ status }: Machine): boolean =>
  !(status?.lastOperation?.type === 'Create' && status.lastOperation.state !== 'Successful');

/**
 * Knows which failed machines are being replaced, by what the server stores and whoever asked for it: from the deletion
 * of the one until the other runs, fails in its turn, or has been made for twenty minutes.
 */
export class RepairJudge {
  readonly #clock: Clock;
  readonly #machines = new Map<string, Machine>();
  #repairs: Repair[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A machine that is new to the server. */
  appeared(machine: Machine): void {
    this.#machines.set(machine.metadata.uid, machine);
    const open = this.#repairs.find(({ set, successor }) => set === setOf(machine) && !successor);
    if (open) open.successor = { uid: machine.metadata.uid, since: this.#clock.now().getTime() };
  }

  gone({ metadata }: Machine): void {
    this.#machines.delete(metadata.uid);
  }

  /**
   * A machine as it is now.
   * @param replicas What its set is to have.
   * @returns Names of the failed machines that are being replaced, if another one has just begun to be.
   */
  changed(before: Machine, machine: Machine, replicas: number): readonly string[] {
    this.#machines.set(machine.metadata.uid, machine);
    if (isGoing(before) || !isGoing(machine) || phaseOf(before) !== 'Failed' || !served(before)) return [];
    const set = setOf(machine);
    if (this.#alive(set) >= replicas) return [];
    this.#repairs.push({ set, failed: machine.metadata.name, successor: undefined });
    this.#settle(set, replicas);
    return this.#repairs.map(({ failed }) => failed);
  }

  #alive(set: string): number {
    return [...this.#machines.values()].filter((machine) => setOf(machine) === set && !isGoing(machine)).length;
  }

  #settle(changed: string, replicas: number): void {
    const now = this.#clock.now().getTime();
    this.#repairs = this.#repairs.filter((repair) => {
      if (!repair.successor) return true;
      const successor = this.#machines.get(repair.successor.uid);
      // What was given up in its turn leaves the place as empty as before.
      if (!successor || isGoing(successor)) return false;
      const over = isReadyPhase(phaseOf(successor) as never) || phaseOf(successor) === 'Failed';
      return !over && repair.successor.since + PATIENCE_MS > now;
    });
    // A set that became smaller replaces no more than it lacks.
    const open = Math.max(replicas - this.#alive(changed), 0);
    const waiting = this.#repairs.filter(({ set, successor }) => set === changed && !successor);
    const dropped = new Set(waiting.slice(0, Math.max(waiting.length - open, 0)));
    this.#repairs = this.#repairs.filter((repair) => !dropped.has(repair));
  }
}
