import { Annotations, Labels, type Machine } from '@mcm/api';
import { type Clock, type Key, keyOf, type Random } from '@mcm/kube';
import { MachineError } from '../../driver/contract/errors.ts';
import type { Choice } from '../../driver/offerings/alternative.ts';
import type { CallOutcome, ObservedOffering, Shortage } from '../model/observation.ts';
import { type Backoff, LONG_RETRY_MS, retryAfter } from '../model/retry.ts';
import { FirstCalls } from './first-calls.ts';

export interface CapacityOptions {
  readonly clock: Clock;
  readonly random: Random;
  /**
   * The first wait of a shortage, in milliseconds (flag `--resource-exhausted-retry`). The value 0 means 10 minutes.
   */
  readonly firstMs: number;
  readonly wake: (key: Key) => void;
  readonly choicesOf?: (machine: Machine) => readonly Choice[] | undefined;
}

/**
 * The maximum wait of a shortage is this multiple of the first wait. Until the maximum, the wait doubles after each
 * failed probe.
 */
const LONGEST_IN_FIRSTS = 3;
/**
 * The maximum random extension of a wait, as a fraction of the wait. With random extensions, classes whose shortages
 * started together send their probes at different times. The first wait has no extension.
 */
const JITTER = 0.2;
/** The number of simultaneous creations at which a shortage ends. A shortage also ends when no machine waits. */
const OPEN_FROM = 64;
/** The time without a probe after which a shortage is removed. */
const FORGET_AFTER_MS = 86_400_000;
/**
 * The maximum time between the record of an offering and its `create` call. An older record no longer counts, because
 * the machine was deleted or the write of the record failed.
 */
const INTENT_MS = 30_000;
const FIRST_CHOICE = '{}';

export interface OfferingShortage {
  readonly labels: Choice['labels'];
  readonly failures: number;
  readonly retryAt: Date;
}

/** A source of capacity: an offering, or a class in a zone. */
interface Place {
  readonly key: string;
  /**
   * A shortage of a class applies only to these versions of the class and its Secrets. For an offering, the value is
   * empty, because a shortage of an offering applies to all classes.
   */
  readonly inputs: string;
  /** The offering. `choice` is undefined for a class in a zone. */
  readonly choice?: Choice;
}

interface Entry extends Place {
  error: MachineError;
  failures: number;
  retryAt: number;
  /** The number of creations that may run at the same time, which starts at 1 and doubles after each success. */
  allowed: number;
  readonly probing: Set<string>;
  readonly waiting: Set<Key>;
}

const zoneOf = ({ spec }: Machine): string => spec.nodeTemplate?.metadata?.labels?.[Labels.Zone] ?? '';

/** Machines without alternatives wait for a class in a zone. */
const keyFor = (machine: Machine): string =>
  JSON.stringify([machine.metadata.namespace, machine.spec.class.name, zoneOf(machine), 'ResourceExhausted']);

/**
 * Applies an error `ResourceExhausted` to all machines that need the same capacity. Machines without alternatives share
 * the capacity of their class and zone. Machines with alternatives share the capacity of an offering.
 * - After one refusal, all machines that need the capacity wait. One waiting machine at a time sends a probe, which is
 *   a `create` call. The waits between probes grow.
 * - Each success doubles the number of machines that may call `create` at the same time.
 * - A change of the class or its Secret ends the shortage of the class.
 * - A new process knows no shortages. If the status of a machine contains the error, the first `create` call of the
 *   machine is a probe.
 */
export class CapacityGate {
  readonly #options: CapacityOptions;
  readonly #backoff: Backoff;
  readonly #entries = new Map<string, Entry>();
  readonly #firstCalls: FirstCalls;
  readonly #intents = new Map<string, { readonly key: string; readonly until: number }>();

  constructor(options: CapacityOptions) {
    this.#options = options;
    const firstMs = options.firstMs > 0 ? options.firstMs : LONG_RETRY_MS;
    this.#backoff = { firstMs, maxMs: firstMs * LONGEST_IN_FIRSTS };
    this.#firstCalls = new FirstCalls(options);
  }

  offeringsOf(machine: Machine): readonly ObservedOffering[] | undefined {
    const { uid } = machine.metadata;
    return this.#options.choicesOf?.(machine)?.map((choice) => {
      const entry = this.#entries.get(choice.key);
      const { record, text } = choice;
      if (entry) return { record, text, shortage: this.#shortage(entry, uid) };
      const awaitsFirstCall = this.#firstCalls.awaited(choice.key, uid);
      return awaitsFirstCall ? { record, text, awaitsFirstCall } : { record, text };
    });
  }

  intends(machine: Machine, record: string): void {
    const { uid } = machine.metadata;
    const choice = this.#options.choicesOf?.(machine)?.find((each) => each.record === record);
    if (!choice) return;
    if (!this.#entries.has(choice.key)) this.#firstCalls.intends(choice.key, uid);
    else this.#intents.set(uid, { key: choice.key, until: this.#options.clock.monotonic() + INTENT_MS });
  }

  *shortages(): Generator<OfferingShortage> {
    for (const entry of this.#entries.values()) {
      const { choice, failures } = entry;
      if (choice) yield { labels: choice.labels, failures, retryAt: this.#instant(entry.retryAt) };
    }
  }

  of(machine: Machine, inputs: string): Shortage | undefined {
    const entry = this.#find(machine, inputs);
    if (!entry) return undefined;
    return this.#shortage(entry, machine.metadata.uid);
  }

  #shortage(entry: Entry, uid: string): Shortage {
    const { error, retryAt, probing, allowed } = entry;
    const busy = probing.size + this.#intentsOf(entry.key, uid);
    return { error, retryAt: this.#instant(retryAt), free: busy < allowed };
  }

  #instant(monotonic: number): Date {
    const { clock } = this.#options;
    return new Date(clock.now().getTime() + monotonic - clock.monotonic());
  }

  #intentsOf(key: string, uid: string): number {
    const now = this.#options.clock.monotonic();
    let count = 0;
    for (const [other, intent] of this.#intents) {
      if (intent.until < now) this.#intents.delete(other);
      else if (other !== uid && intent.key === key) count++;
    }
    return count;
  }

  waits(machine: Machine, inputs: string): void {
    const choices = this.#options.choicesOf?.(machine);
    if (!choices) this.#find(machine, inputs)?.waiting.add(keyOf(machine));
    for (const { key } of choices ?? []) {
      this.#entries.get(key)?.waiting.add(keyOf(machine));
      this.#firstCalls.waits(key, keyOf(machine));
    }
  }

  began(machine: Machine, inputs: string): void {
    const { uid } = machine.metadata;
    const reported = machine.status?.lastOperation;
    const place = this.#placeOf(machine, inputs);
    this.#intents.delete(uid);
    // If the machine has alternatives, the error in its status may belong to another offering.
    const entry =
      this.#find(machine, inputs) ??
      (reported?.errorCode === 'ResourceExhausted' && !place.choice
        ? this.#open(place, new MachineError('ResourceExhausted', reported.description ?? ''))
        : undefined);
    if (place.choice && !entry) this.#firstCalls.began(place.key, uid);
    entry?.probing.add(uid);
    entry?.waiting.delete(keyOf(machine));
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
      if (entry.waiting.size === 0 || entry.allowed >= OPEN_FROM) this.#entries.delete(place.key);
    }
    if (entry && probed) this.#wakeAll(entry.waiting);
    if (place.choice) this.#wakeAll(this.#firstCalls.ended(place.key, machine.metadata.uid, outcome.ok));
  }

  #placeOf(machine: Machine, inputs: string): Place {
    const record = machine.metadata.annotations?.[Annotations.CapacityOffering];
    const choice = this.#options.choicesOf?.(machine)?.find((each) => each.record === (record ?? FIRST_CHOICE));
    return choice ? { key: choice.key, inputs: '', choice } : { key: keyFor(machine), inputs };
  }

  #find(machine: Machine, inputs: string): Entry | undefined {
    const place = this.#placeOf(machine, inputs);
    const entry = this.#entries.get(place.key);
    return entry?.inputs === place.inputs ? entry : undefined;
  }

  /**
   * If a shortage is known, only a refused probe changes the shortage. Any other refused call started before the
   * shortage was known.
   */
  #refused(place: Place, error: MachineError, known: Entry | undefined, probed: boolean): void {
    if (known && !probed) return;
    const entry = known ?? this.#open(place, error);
    entry.error = error;
    entry.failures++;
    entry.allowed = 1;
    const ms = retryAfter(this.#backoff, error, entry.failures);
    const jitter = entry.failures === 1 ? 0 : Math.floor(ms * JITTER * this.#options.random.next());
    entry.retryAt = this.#options.clock.monotonic() + ms + jitter;
  }

  #open(place: Place, error: MachineError): Entry {
    const now = this.#options.clock.monotonic();
    for (const [key, { retryAt, probing }] of this.#entries) {
      if (probing.size === 0 && retryAt + FORGET_AFTER_MS < now) this.#entries.delete(key);
    }
    const entry: Entry = {
      ...place,
      error,
      failures: 0,
      retryAt: now,
      allowed: 1,
      probing: new Set(),
      waiting: new Set(),
    };
    const before = this.#entries.get(place.key);
    this.#entries.set(place.key, entry);
    if (before) this.#wakeAll(before.waiting);
    return entry;
  }

  #wakeAll(waiting: Set<Key>): void {
    const keys = [...waiting];
    waiting.clear();
    for (const key of keys) this.#options.wake(key);
  }
}
