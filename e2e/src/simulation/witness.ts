import type { Machine } from '@mcm/api';
import { type Change, type Clock, controllerOf } from '@mcm/kube';
import { RepairJudge } from './repair-judge.ts';

/** The size that a user asked for, and how far a rollout may stray from it. */
export interface Wish {
  readonly replicas: number;
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

/** A node that was selected for an update where it is. */
interface Selection {
  /** The set that its machine had then. */
  readonly set: string | undefined;
  /** Virtual milliseconds since 1970. */
  readonly selectedAt: number;
}

export interface HistoryEntry {
  /** Virtual milliseconds since the beginning. */
  readonly at: number;
  /** `request`: an answer of a server; `state`: a change of a machine; `act`: what a user or misfortune did. */
  readonly kind: 'request' | 'state' | 'act';
  readonly text: string;
}

const phaseOf = (machine: Machine): string => machine.status?.currentStatus?.phase || 'new';
const isAvailable = (machine: Machine): boolean =>
  machine.metadata.deletionTimestamp === undefined && phaseOf(machine) === 'Running';

/** Sees every state of every machine as the API server stores it, writes the history, and says what must never happen. */
export class Witness {
  readonly history: HistoryEntry[] = [];
  readonly violations: string[] = [];
  readonly #clock: Clock;
  readonly #start: number;
  readonly #machines = new Map<string, Machine>();
  readonly #byHand = new Set<string>();
  readonly #foreign = new Set<string>();
  /** Nodes, called like their machines, that are selected for an update where they are. */
  readonly #selected = new Map<string, Selection>();
  /** When machines, by UID, stopped being available by no decision of ours. */
  readonly #lostAt = new Map<string, number>();
  #wishes: { readonly since: number; readonly wish: Wish }[] = [];
  #selections = 0;
  readonly #repairs: RepairJudge;
  readonly #replicasOf: (setUid: string) => number;
  readonly #lagMs: () => number;

  /**
   * @param replicasOf What a set is to have, by its UID.
   * @param limit `--max-unhealthy-replacements`.
   * @param lagMs How old the knowledge can be on which a write rests that arrives now.
   */
  constructor(
    clock: Clock,
    replicasOf: (setUid: string) => number = () => 0,
    limit = 1,
    lagMs: () => number = () => 0,
  ) {
    this.#clock = clock;
    this.#repairs = new RepairJudge(clock, limit);
    this.#replicasOf = replicasOf;
    this.#lagMs = lagMs;
    this.#start = clock.now().getTime();
  }

  note(kind: HistoryEntry['kind'], text: string): void {
    this.history.push({ at: this.#clock.now().getTime() - this.#start, kind, text });
  }

  violate(text: string): void {
    this.note('state', `VIOLATION: ${text}`);
    this.violations.push(text);
  }

  /** From now on the user wants this. */
  wishes(wish: Wish): void {
    this.#wishes.push({ since: this.#clock.now().getTime(), wish });
  }

  /** The user deletes the machine with this UID; its name may be another's later. */
  deletesByHand(uid: string): void {
    this.#byHand.add(uid);
  }

  /** Whether the user has deleted the machine with this UID. */
  isDeletedByHand(uid: string): boolean {
    return this.#byHand.has(uid);
  }

  /** A machine that the user makes by hand belongs to no wish. */
  allows(name: string): void {
    this.#foreign.add(name);
  }

  /**
   * A node, called like its machine, is selected for an update, or no longer.
   * @param byHand By the user, who may select as many as he likes.
   */
  selects(name: string, on: boolean, byHand: boolean): void {
    const machine = this.#machines.get(name);
    if (!on) this.#selected.delete(name);
    if (!on || this.#selected.has(name)) return;
    this.note('state', `node ${name} is selected for an update`);
    this.#selections++;
    if (!byHand && machine && isAvailable(machine)) this.#decided(name, 'was selected');
    const now = this.#clock.now().getTime();
    this.#selected.set(name, { set: machine && controllerOf(machine)?.uid, selectedAt: now });
  }

  /** How many nodes have been selected for an update so far, by whomever. */
  get selections(): number {
    return this.#selections;
  }

  /** A machine that was updated and changed its set is back, though its node bears the mark for a moment longer. */
  #isSelected(machine: Machine): boolean {
    const selection = this.#selected.get(machine.metadata.name);
    return selection !== undefined && selection.set === controllerOf(machine)?.uid;
  }

  /** Machines, by UID, of whose selection our controllers must know. */
  #knownSelections(): ReadonlySet<string> {
    const now = this.#clock.now().getTime();
    const lagMs = this.#lagMs();
    const known = this.#ours().filter((machine) => {
      const { selectedAt = now } = this.#selected.get(machine.metadata.name) ?? {};
      return this.#isSelected(machine) && selectedAt + lagMs <= now;
    });
    return new Set(known.map(({ metadata }) => metadata.uid));
  }

  /** The server was restored, and shows what it knew before: there is nothing to judge. */
  relearns({ type, object }: Change<Machine>): void {
    if (type === 'deleted') this.#machines.delete(object.metadata.name);
    else this.#machines.set(object.metadata.name, object);
    this.#lostAt.delete(object.metadata.uid);
  }

  readonly onChange = (change: Change<Machine>): void => {
    const { name, uid } = change.object.metadata;
    const before = this.#machines.get(name);
    if (change.type === 'deleted') {
      this.#machines.delete(name);
      this.#repairs.gone(change.object);
      this.note('state', `machine ${name} is gone`);
      return;
    }
    this.#machines.set(name, change.object);
    if (before?.metadata.uid !== uid) this.#appeared(change.object);
    else this.#changed(before, change.object);
  };

  #appeared(machine: Machine): void {
    this.note('state', `machine ${machine.metadata.name} appeared, class ${machine.spec.class.name ?? ''}`);
    if (this.#foreign.has(machine.metadata.name)) return;
    this.#repairs.appeared(machine);
    const alive = this.#ours().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const most = Math.max(...this.#recentWishes().map(({ replicas, maxSurge }) => replicas + maxSurge));
    if (alive.length > most) {
      this.violate(`${alive.length} machines not terminating, at most ${most} were asked for`);
    }
  }

  #changed(before: Machine, machine: Machine): void {
    const { name, uid } = machine.metadata;
    const byHand = this.#byHand.has(uid);
    if (phaseOf(before) !== phaseOf(machine)) {
      this.note('state', `machine ${name}: ${phaseOf(before)} → ${phaseOf(machine)}`);
    }
    const deleted = !before.metadata.deletionTimestamp && machine.metadata.deletionTimestamp !== undefined;
    if (deleted) this.note('state', `machine ${name} is told to go${byHand ? ' by hand' : ''}`);
    this.#judgeRepair(before, machine, byHand);
    if (isAvailable(machine)) this.#lostAt.delete(uid);
    if (!isAvailable(before) || isAvailable(machine)) return;
    if (deleted && !byHand) this.#decided(name, 'was deleted');
    else this.#lostAt.set(uid, this.#clock.now().getTime());
  }

  /** No more than `--max-unhealthy-replacements`, and together with a rollout no more than the deployment allows. */
  #judgeRepair(before: Machine, machine: Machine, byHand: boolean): void {
    if (this.#foreign.has(machine.metadata.name)) return;
    const wishes = this.#recentWishes();
    const wrong = this.#repairs.changed(before, machine, {
      replicasOf: this.#replicasOf,
      replicas: wishes.map(({ replicas }) => replicas),
      maxUnavailable: Math.max(...wishes.map(({ maxUnavailable }) => maxUnavailable)),
      selected: this.#knownSelections(),
      byHand,
    });
    if (wrong !== undefined) this.violate(wrong);
  }

  /** An available machine goes by a decision of ours: the others must do. What was lost just now may not be known yet. */
  #decided(name: string, how: string): void {
    const since = this.#clock.now().getTime() - this.#lagMs();
    const lost = [...this.#lostAt.values()].filter((at) => at > since).length;
    const stays = (one: Machine) => one.metadata.name !== name && !this.#isSelected(one);
    const others = this.#ours().filter((one) => isAvailable(one) && stays(one)).length;
    const least = Math.min(...this.#recentWishes().map(({ replicas, maxUnavailable }) => replicas - maxUnavailable));
    if (others + lost < least) {
      this.violate(
        `${name} ${how} with ${others} others available and ${lost} lost just before, at least ${least} were asked for`,
      );
    }
  }

  #ours(): Machine[] {
    return [...this.#machines.values()].filter(({ metadata }) => !this.#foreign.has(metadata.name));
  }

  /** What was asked for at any time that a decision can still rest on. */
  #recentWishes(): Wish[] {
    const since = this.#clock.now().getTime() - this.#lagMs();
    const last = this.#wishes.findLastIndex((entry) => entry.since <= since);
    return this.#wishes.slice(Math.max(last, 0)).map(({ wish }) => wish);
  }

  /** What a person reads: all but the requests that only look. */
  tell(most = 250): string {
    const lines = this.history
      .filter(({ kind, text }) => kind !== 'request' || !/ (get|list|watch| {2}[0-9]+$)|^kubelet| events /.test(text))
      .map(({ at, kind, text }) => `${(at / 1_000).toFixed(3).padStart(10)} s  ${kind.padEnd(7)} ${text}`);
    return lines.slice(-most).join('\n');
  }
}
