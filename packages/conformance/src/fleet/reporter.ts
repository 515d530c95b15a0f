import { Annotations, type Machine, type MachineSet } from '@mcm/api';
import { type Change, type Clock, controllerOf } from '@mcm/kube';
import { FleetVerifier, type FleetVerifierOptions, phaseOf, type Wish } from './fleet-verifier.ts';

/** An entry in the history of a simulated fleet. */
export interface HistoryEntry {
  readonly at: number;
  /**
   * - `request`: the API server or the cloud has responded to a request.
   * - `state`: a machine has changed.
   * - `act`: a user has acted, or the simulation has caused a fault.
   */
  readonly kind: 'request' | 'state' | 'act';
  readonly text: string;
}

/** The data with which a {@link Reporter} verifies a fleet. */
export interface ReporterRules extends Omit<FleetVerifierOptions, 'clock' | 'violate'> {
  readonly recordedAt: (setUid: string) => number;
  readonly repeatsUnread: (name: string) => boolean;
  readonly deploymentOf: (object: Machine | MachineSet) => string | undefined;
}

interface Naming {
  readonly uid: string;
  readonly version: number;
  readonly managers: number;
  /**
   * The resource version at which the machine was deleted. If the manager had certainly read the machine before,
   * `goneUnread` is undefined.
   */
  readonly goneUnread?: number;
}

/** Records every state of every machine in the API server, writes the history, and reports violations. */
export class Reporter {
  readonly history: HistoryEntry[] = [];
  readonly violations: string[] = [];
  readonly #clock: Clock;
  readonly #start: number;
  readonly #machines = new Map<string, Machine>();
  readonly #byHand = new Set<string>();
  readonly #foreign = new Set<string>();
  readonly #named = new Map<string, Naming>();
  readonly #recordedAt: ReporterRules['recordedAt'];
  readonly #repeatsUnread: ReporterRules['repeatsUnread'];
  readonly #deploymentOf: ReporterRules['deploymentOf'];
  readonly #lagMs: ReporterRules['lagMs'];
  #managers = 0;
  #managerSince = 0;
  readonly #fleets = new Map<string, FleetVerifier>();
  readonly #makeFleet: () => FleetVerifier;
  #selections = 0;
  readonly #first = Promise.withResolvers<void>();

  constructor(clock: Clock, rules: Partial<ReporterRules> = {}) {
    this.#clock = clock;
    const {
      replicasOf = () => 0,
      largestSince = () => 0,
      reducedAt = () => undefined,
      totalOf = () => 0,
      limit = 1,
      patienceMs,
      lagMs = () => 0,
      recordedAt = () => Number.POSITIVE_INFINITY,
      repeatsUnread = () => false,
      deploymentOf = ({ metadata }) => metadata.labels?.name,
    } = rules;
    this.#repeatsUnread = repeatsUnread;
    this.#recordedAt = recordedAt;
    this.#lagMs = lagMs;
    this.#deploymentOf = deploymentOf;
    const violate = (text: string): void => this.violate(text);
    const options = { clock, replicasOf, largestSince, reducedAt, totalOf, limit, patienceMs, lagMs, violate };
    this.#makeFleet = () => new FleetVerifier(options);
    this.#start = clock.now().getTime();
  }

  note(kind: HistoryEntry['kind'], text: string): void {
    this.history.push({ at: this.#clock.now().getTime() - this.#start, kind, text });
  }

  violate(text: string): void {
    this.note('state', `VIOLATION: ${text}`);
    this.violations.push(text);
    this.#first.resolve();
  }

  /** Waits for the end of a history, or for its first violation if `endsAtViolation` is true. */
  async until(
    history: Promise<void>,
    { endsAtViolation }: { readonly endsAtViolation?: boolean | undefined },
  ): Promise<void> {
    await (endsAtViolation ? Promise.race([history, this.#first.promise]) : history);
  }

  wishes(deployment: string, wish: Wish): void {
    this.#fleet(deployment).wishes(wish);
  }

  #fleet(deployment: string): FleetVerifier {
    const fleet = this.#fleets.get(deployment) ?? this.#makeFleet();
    this.#fleets.set(deployment, fleet);
    return fleet;
  }

  /** Returns the verifier of the fleet to which a machine belongs. */
  #fleetOf(machine: Machine | undefined): FleetVerifier {
    const [first = ''] = this.#fleets.keys();
    const name = (machine && this.#deploymentOf(machine)) ?? first;
    return this.#fleet(this.#fleets.has(name) ? name : first);
  }

  deletesByHand(uid: string): void {
    this.#byHand.add(uid);
  }

  /** @param total The total size of all sets of its deployment. */
  grows(set: MachineSet, total: number): void {
    this.#fleets.get(this.#deploymentOf(set) ?? '')?.grows(set.metadata.name, total);
  }

  isDeletedByHand(uid: string): boolean {
    return this.#byHand.has(uid);
  }

  /** Records a machine that the user creates outside of a deployment. */
  allows(name: string): void {
    this.#foreign.add(name);
  }

  /**
   * Records a change of a node's selection for an update.
   * @param byHand Whether the user selected the node.
   */
  selects(name: string, on: boolean, byHand: boolean): void {
    const fleet = this.#fleetOf(this.#machines.get(name));
    if (!fleet.selects(name, on, byHand)) return;
    this.note('state', `node ${name} is selected for an update`);
    this.#selections++;
  }

  get selections(): number {
    return this.#selections;
  }

  /**
   * Records that the server was restored to an older state.
   * @param machines The names of the restored machines.
   */
  isRestored(machines: ReadonlySet<string>): void {
    for (const name of this.#named.keys()) if (!machines.has(name)) this.#named.delete(name);
  }

  /** Records that the restore of the server changed a machine. */
  relearns({ type, object }: Change<Machine>): void {
    const { name } = object.metadata;
    if (type === 'deleted') {
      this.#machines.delete(name);
      // A machine that the restored server does not contain may be created again, to adopt its VM.
      this.#named.delete(name);
    } else {
      this.#machines.set(name, object);
      this.#nameOf(object);
    }
    this.#fleetOf(object).relearns(object, type === 'deleted');
  }

  readonly onChange = ({ type, object }: Change<Machine>): void => {
    const { name, uid, deletionTimestamp } = object.metadata;
    const before = this.#machines.get(name);
    // A warm machine is not a replica until a set uses it.
    const isWarm = ({ metadata }: Machine) => metadata.annotations?.[Annotations.WarmState] !== undefined;
    const fleet = this.#foreign.has(name) || isWarm(object) ? undefined : this.#fleetOf(object);
    if (type === 'deleted') {
      this.#machines.delete(name);
      this.#noteGone(object);
      fleet?.gone(object);
      this.note('state', `machine ${name} no longer exists`);
      return;
    }
    this.#machines.set(name, object);
    if (before?.metadata.uid !== uid) {
      this.note('state', `the controller created machine ${name} of class ${object.spec.class.name ?? ''}`);
      this.#verifyName(object);
      fleet?.appeared(object);
      return;
    }
    const byHand = this.#byHand.has(uid);
    if (phaseOf(before) !== phaseOf(object))
      this.note('state', `machine ${name}: ${phaseOf(before)} → ${phaseOf(object)}`);
    if (!before.metadata.deletionTimestamp && deletionTimestamp !== undefined)
      this.note('state', `${byHand ? 'the user' : 'a controller'} deletes machine ${name}`);
    if (isWarm(before)) fleet?.appeared(object);
    else fleet?.changed(before, object, byHand);
  };

  get managerStartCount(): number {
    return this.#managers;
  }

  /** Records that a manager starts to work. */
  managerStarts(): void {
    this.#managers += 1;
    this.#managerSince = this.#clock.now().getTime();
  }

  /**
   * A manager that has just started may never read a machine that is deleted at once, so its record lacks the machine.
   */
  #noteGone({ metadata: { name, uid, resourceVersion } }: Machine): void {
    const earlier = this.#named.get(name);
    const isRead = this.#clock.now().getTime() > this.#managerSince + this.#lagMs();
    if (earlier?.uid !== uid || isRead) return;
    this.#named.set(name, { ...earlier, goneUnread: Number(resourceVersion) });
  }

  #nameOf({ metadata: { name, uid, resourceVersion } }: Machine): void {
    this.#named.set(name, { uid, version: Number(resourceVersion), managers: this.#managers });
  }

  /**
   * Reports a machine with the name of an earlier machine, because the VM or the Node of the earlier machine may still
   * exist. The first two exceptions of docs/decisions/0018-machine-names-from-a-count.md are allowed:
   * - The manager of the earlier machine ended before the set recorded the number.
   * - The manager repeated the create request, because the manager had received no response and no event with the name.
   */
  #verifyName(machine: Machine): void {
    const { name, uid } = machine.metadata;
    const earlier = this.#named.get(name);
    const set = controllerOf(machine)?.uid;
    if (earlier !== undefined && earlier.uid !== uid && !this.#foreign.has(name)) {
      const { version, goneUnread = Number.POSITIVE_INFINITY } = earlier;
      const recordedAt = set === undefined ? undefined : this.#recordedAt(set);
      const wasRecorded = recordedAt === undefined || (recordedAt > version && recordedAt < goneUnread);
      const endedEarly = !wasRecorded && earlier.managers !== this.#managers;
      if (!endedEarly && !this.#repeatsUnread(name)) this.violate(`machine ${name} has the name of an earlier machine`);
    }
    this.#nameOf(machine);
  }

  /** Returns the history as readable text, without reads and renewals of Leases. */
  tell(most = 250): string {
    const lines = this.history
      .filter(
        ({ kind, text }) =>
          kind !== 'request' || !/ (get|list|watch| {2}[0-9]+$)|^kubelet| events | update leases\//.test(text),
      )
      .map(({ at, kind, text }) => `${(at / 1_000).toFixed(3).padStart(10)} s  ${kind.padEnd(7)} ${text}`);
    return lines.slice(-most).join('\n');
  }
}
