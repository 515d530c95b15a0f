import { Annotations, Labels, type Machine } from '@mcm/api';
import { type Clock, type Key, keyOf, type Random } from '@mcm/kube';
import { MachineError } from '../../driver/contract/errors.ts';
import type { Choice } from '../../driver/offerings/alternative.ts';
import type { CallOutcome, ObservedOffering, Shortage } from '../model/observation.ts';
import { type Backoff, LONG_RETRY_MS, retryAfter } from '../model/retry.ts';
import type { Waiting } from './first-calls.ts';
import { type Entry, OfferingBook, type Place } from './offering-book.ts';

export interface CapacityOptions {
  readonly clock: Clock;
  readonly random: Random;
  /**
   * The first wait after the cloud reports a lack of capacity, in milliseconds (flag `--resource-exhausted-retry`,
   * default 10 minutes).
   */
  readonly firstMs: number;
  readonly wake: (key: Key) => void;
  readonly choicesOf?: (machine: Machine) => readonly Choice[] | undefined;
  readonly offerings?: OfferingBook | undefined;
}

/** The maximum wait during a shortage, as a multiple of the first wait. */
const LONGEST_IN_FIRSTS = 3;
/**
 * The maximum random extension of the wait between two probes, so that not all classes send probes at the same time.
 */
const JITTER = 0.2;
/** The shortage ends when this number of creations may run at the same time. */
const OPEN_FROM = 64;
/** mcm removes a shortage after this time without a probe. */
const FORGET_AFTER_MS = 86_400_000;
/** A machine must call `create` within this time after mcm has chosen its offering. */
const INTENT_MS = 30_000;
const FIRST_CHOICE = '{}';

/** The error text of the cloud may name objects of the first cluster, so mcm replaces it for other clusters. */
const REFUSED_FOR_OTHERS = new MachineError(
  'ResourceExhausted',
  'the cloud has no capacity for a cluster with the same credentials',
);

export interface OfferingShortage {
  readonly labels: Choice['labels'];
  readonly failures: number;
  readonly retryAt: Date;
}

const zoneOf = ({ spec }: Machine): string => spec.nodeTemplate?.metadata?.labels?.[Labels.Zone] ?? '';

/** Returns the key of the capacity that a machine without alternatives needs: a class in a zone. */
const keyFor = (machine: Machine): string =>
  JSON.stringify([machine.metadata.namespace, machine.spec.class.name, zoneOf(machine), 'ResourceExhausted']);

/**
 * Applies an error `ResourceExhausted` to all machines that need the same capacity.
 * - During a shortage, one waiting machine at a time calls `create` as a probe.
 * - After each successful probe, the number of machines that may call `create` at the same time doubles.
 * - A change of the class or its Secret ends the shortage of the class.
 * - In a fleet, a shortage of an offering applies to all clusters with the same credentials.
 * - A new process knows no shortages, so a machine with the error in its status calls `create` as a probe.
 */
export class CapacityGate {
  readonly #options: CapacityOptions;
  readonly #backoff: Backoff;
  readonly #classes = new Map<string, Entry>();
  readonly #offerings: OfferingBook;

  constructor(options: CapacityOptions) {
    this.#options = options;
    const firstMs = options.firstMs > 0 ? options.firstMs : LONG_RETRY_MS;
    this.#backoff = { firstMs, maxMs: firstMs * LONGEST_IN_FIRSTS };
    this.#offerings = options.offerings ?? new OfferingBook(options.clock);
  }

  offeringsOf(machine: Machine): readonly ObservedOffering[] | undefined {
    const { uid } = machine.metadata;
    return this.#options.choicesOf?.(machine)?.map((choice) => {
      const entry = this.#offerings.entries.get(choice.key);
      const { record, text } = choice;
      if (entry) return { record, text, shortage: this.#shortage(entry, uid) };
      const awaitsFirstCall = this.#offerings.firstCalls.awaited(choice.key, uid);
      return awaitsFirstCall ? { record, text, awaitsFirstCall } : { record, text };
    });
  }

  intends(machine: Machine, record: string): void {
    const { uid } = machine.metadata;
    const choice = this.#options.choicesOf?.(machine)?.find((each) => each.record === record);
    if (!choice) return;
    const { entries, firstCalls, intents } = this.#offerings;
    if (!entries.has(choice.key)) firstCalls.intends(choice.key, uid);
    else intents.set(uid, { key: choice.key, until: this.#options.clock.monotonic() + INTENT_MS });
  }

  *shortages(): Generator<OfferingShortage> {
    for (const entry of this.#offerings.entries.values()) {
      const { choice, failures, reader } = entry;
      if (choice && reader === this) yield { labels: choice.labels, failures, retryAt: this.#instant(entry.retryAt) };
    }
  }

  of(machine: Machine, inputs: string): Shortage | undefined {
    const entry = this.#find(machine, inputs);
    if (!entry) return undefined;
    return this.#shortage(entry, machine.metadata.uid);
  }

  #shortage(entry: Entry, uid: string): Shortage {
    const { retryAt, allowed } = entry;
    const busy = this.#offerings.probes(entry, this) + this.#intentsOf(entry.key, uid);
    const error = entry.reader === this ? entry.error : REFUSED_FOR_OTHERS;
    return { error, retryAt: this.#instant(retryAt), free: busy < allowed };
  }

  #instant(monotonic: number): Date {
    const { clock } = this.#options;
    return new Date(clock.now().getTime() + monotonic - clock.monotonic());
  }

  #intentsOf(key: string, uid: string): number {
    const now = this.#options.clock.monotonic();
    let count = 0;
    const { intents } = this.#offerings;
    for (const [other, intent] of intents) {
      if (intent.until < now) intents.delete(other);
      else if (other !== uid && intent.key === key) count++;
    }
    return count;
  }

  waits(machine: Machine, inputs: string): void {
    const choices = this.#options.choicesOf?.(machine);
    const { uid } = machine.metadata;
    const wake = (): void => this.#options.wake(keyOf(machine));
    if (!choices) this.#find(machine, inputs)?.waiting.set(uid, wake);
    const { entries, firstCalls } = this.#offerings;
    for (const { key } of choices ?? []) {
      entries.get(key)?.waiting.set(uid, wake);
      firstCalls.waits(key, uid, wake);
    }
  }

  began(machine: Machine, inputs: string): void {
    const { uid } = machine.metadata;
    const reported = machine.status?.lastOperation;
    const place = this.#placeOf(machine, inputs);
    this.#offerings.intents.delete(uid);
    // For a machine with alternatives, the error in the status may belong to another offering.
    const entry =
      this.#find(machine, inputs) ??
      (reported?.errorCode === 'ResourceExhausted' && !place.choice
        ? this.#open(place, new MachineError('ResourceExhausted', reported.description ?? ''))
        : undefined);
    if (place.choice && !entry) this.#offerings.firstCalls.began(place.key, uid);
    entry?.probing.set(uid, { reader: this, since: this.#options.clock.monotonic() });
    entry?.waiting.delete(uid);
  }

  ended(machine: Machine, inputs: string, outcome: CallOutcome): void {
    const place = this.#placeOf(machine, inputs);
    const entry = this.#find(machine, inputs);
    const probed = entry?.probing.delete(machine.metadata.uid) ?? false;
    if (!outcome.ok && outcome.error.code === 'ResourceExhausted') {
      this.#refused(place, outcome.error, entry, probed);
    } else if (entry && outcome.ok && probed) {
      entry.failures = 0;
      entry.allowed *= 2;
      if (entry.waiting.size === 0 || entry.allowed >= OPEN_FROM) this.#entriesOf(place).delete(place.key);
    }
    if (entry && probed) wakeAll(entry.waiting);
    if (place.choice) wakeAll(this.#offerings.firstCalls.ended(place.key, machine.metadata.uid, outcome.ok));
  }

  #placeOf(machine: Machine, inputs: string): Place {
    const record = machine.metadata.annotations?.[Annotations.CapacityOffering];
    const choice = this.#options.choicesOf?.(machine)?.find((each) => each.record === (record ?? FIRST_CHOICE));
    return choice ? { key: choice.key, inputs: '', choice } : { key: keyFor(machine), inputs };
  }

  #find(machine: Machine, inputs: string): Entry | undefined {
    const place = this.#placeOf(machine, inputs);
    const entry = this.#entriesOf(place).get(place.key);
    return entry?.inputs === place.inputs ? entry : undefined;
  }

  /** During a known shortage, only a failed probe changes the shortage. */
  #refused(place: Place, error: MachineError, known: Entry | undefined, probed: boolean): void {
    if (known && !probed) return;
    const entry = known ?? this.#open(place, error);
    entry.error = error;
    entry.reader = this;
    entry.failures++;
    entry.allowed = 1;
    const ms = retryAfter(this.#backoff, error, entry.failures);
    const jitter = entry.failures === 1 ? 0 : Math.floor(ms * JITTER * this.#options.random.next());
    entry.retryAt = this.#options.clock.monotonic() + ms + jitter;
  }

  #open(place: Place, error: MachineError): Entry {
    const now = this.#options.clock.monotonic();
    const entries = this.#entriesOf(place);
    for (const [key, entry] of entries) {
      if (this.#offerings.probes(entry, this) === 0 && entry.retryAt + FORGET_AFTER_MS < now) entries.delete(key);
    }
    const entry: Entry = {
      ...place,
      error,
      reader: this,
      failures: 0,
      retryAt: now,
      allowed: 1,
      probing: new Map(),
      waiting: new Map(),
    };
    const before = entries.get(place.key);
    entries.set(place.key, entry);
    if (before) wakeAll(before.waiting);
    return entry;
  }

  #entriesOf({ choice }: Place): Map<string, Entry> {
    return choice ? this.#offerings.entries : this.#classes;
  }
}

function wakeAll(waiting: Waiting): void {
  const wakes = [...waiting.values()];
  waiting.clear();
  for (const wake of wakes) wake();
}
