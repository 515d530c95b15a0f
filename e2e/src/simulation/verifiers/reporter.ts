import type { Machine } from '@mcm/api';
import type { Change, Clock } from '@mcm/kube';
import { FleetVerifier, phaseOf, type Wish } from '../fleet-verifier.ts';

export interface HistoryEntry {
  /** Virtual milliseconds since the beginning. */
  readonly at: number;
  /** `request`: an answer of a server; `state`: a change of a machine; `act`: what a user or misfortune did. */
  readonly kind: 'request' | 'state' | 'act';
  readonly text: string;
}

/** Sees every state of every machine as the API server stores it, writes the history, and says what must never happen. */
export class Reporter {
  readonly history: HistoryEntry[] = [];
  readonly violations: string[] = [];
  readonly #clock: Clock;
  readonly #start: number;
  readonly #machines = new Map<string, Machine>();
  readonly #byHand = new Set<string>();
  readonly #foreign = new Set<string>();
  /** By the name of the deployment. */
  readonly #fleets = new Map<string, FleetVerifier>();
  readonly #makeFleet: () => FleetVerifier;
  #selections = 0;

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
    const violate = (text: string): void => this.violate(text);
    this.#makeFleet = () => new FleetVerifier({ clock, replicasOf, limit, lagMs, violate });
    this.#start = clock.now().getTime();
  }

  note(kind: HistoryEntry['kind'], text: string): void {
    this.history.push({ at: this.#clock.now().getTime() - this.#start, kind, text });
  }

  violate(text: string): void {
    this.note('state', `VIOLATION: ${text}`);
    this.violations.push(text);
  }

  /** From now on the user wants this of a deployment. */
  wishes(deployment: string, wish: Wish): void {
    this.#fleet(deployment).wishes(wish);
  }

  #fleet(deployment: string): FleetVerifier {
    const fleet = this.#fleets.get(deployment) ?? this.#makeFleet();
    this.#fleets.set(deployment, fleet);
    return fleet;
  }

  /** The fleet of a machine: machines have the name of their deployment as a label. Others count to the first fleet. */
  #fleetOf(machine: Machine | undefined): FleetVerifier {
    const [first = ''] = this.#fleets.keys();
    const name = machine?.metadata.labels?.name ?? first;
    return this.#fleet(this.#fleets.has(name) ? name : first);
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
    const fleet = this.#fleetOf(this.#machines.get(name));
    if (!fleet.selects(name, on, byHand)) return;
    this.note('state', `node ${name} is selected for an update`);
    this.#selections++;
  }

  /** How many nodes have been selected for an update so far, by whomever. */
  get selections(): number {
    return this.#selections;
  }

  /** The server was restored and shows an older state, so there is nothing to check. */
  relearns({ type, object }: Change<Machine>): void {
    if (type === 'deleted') this.#machines.delete(object.metadata.name);
    else this.#machines.set(object.metadata.name, object);
    this.#fleetOf(object).relearns(object, type === 'deleted');
  }

  readonly onChange = ({ type, object }: Change<Machine>): void => {
    const { name, uid, deletionTimestamp } = object.metadata;
    const before = this.#machines.get(name);
    const fleet = this.#foreign.has(name) ? undefined : this.#fleetOf(object);
    if (type === 'deleted') {
      this.#machines.delete(name);
      fleet?.gone(object);
      this.note('state', `machine ${name} is gone`);
      return;
    }
    this.#machines.set(name, object);
    if (before?.metadata.uid !== uid) {
      this.note('state', `machine ${name} appeared, class ${object.spec.class.name ?? ''}`);
      fleet?.appeared(object);
      return;
    }
    const byHand = this.#byHand.has(uid);
    if (phaseOf(before) !== phaseOf(object))
      this.note('state', `machine ${name}: ${phaseOf(before)} → ${phaseOf(object)}`);
    if (!before.metadata.deletionTimestamp && deletionTimestamp !== undefined)
      this.note('state', `machine ${name} gets its deletion${byHand ? ' by hand' : ''}`);
    fleet?.changed(before, object, byHand);
  };

  /** What a person reads: all but the requests that only look. */
  tell(most = 250): string {
    const lines = this.history
      .filter(({ kind, text }) => kind !== 'request' || !/ (get|list|watch| {2}[0-9]+$)|^kubelet| events /.test(text))
      .map(({ at, kind, text }) => `${(at / 1_000).toFixed(3).padStart(10)} s  ${kind.padEnd(7)} ${text}`);
    return lines.slice(-most).join('\n');
  }
}
