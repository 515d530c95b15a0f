import { Labels, type Machine } from '@mcm/api';
import { type Clock, type Key, keyOf, type Random } from '@mcm/kube';
import { MachineError } from '../../driver/contract/errors.ts';
import type { CallOutcome, Shortage } from '../model/observation.ts';
import { type Backoff, LONG_RETRY_MS, retryAfter } from '../model/retry.ts';

export interface CapacityOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** `--resource-exhausted-retry`: the first wait, in milliseconds; 0 means 10 minutes. */
  readonly firstMs: number;
  /** Wakes machines that waited for capacity. */
  readonly wake: (key: Key) => void;
}

/** The waits double up to this multiple of the first wait. */
const LONGEST_IN_FIRSTS = 3;
/** The longest random share of a wait, except the first. It spreads the probes of classes that ran short together. */
const JITTER = 0.2;
/** The shortage ends when this many creations may run at once, or when no machine waits. */
const OPEN_FROM = 64;
/** A shortage without a probe for this long is forgotten. */
const FORGET_AFTER_MS = 86_400_000;

interface Entry {
  readonly inputs: string;
  error: MachineError;
  failures: number;
  /** By the monotonic clock. */
  retryAt: number;
  /** Creations that may be under way at once: one probe, then twice as many after each success. */
  allowed: number;
  readonly probing: Set<string>;
  readonly waiting: Set<Key>;
}

const zoneOf = ({ spec }: Machine): string => spec.nodeTemplate?.metadata?.labels?.[Labels.Zone] ?? '';

/** A shortage applies to a class in a zone. `ResourceExhausted` is the only error code with a shortage. */
const keyFor = (machine: Machine): string =>
  JSON.stringify([machine.metadata.namespace, machine.spec.class.name, zoneOf(machine), 'ResourceExhausted']);

/**
 * Shares the error `ResourceExhausted` among all machines of a class and zone.
 *
 * - One refusal applies to all of them. One machine at a time retries, with growing waits.
 * - Each success doubles the number of machines that may call `create` at once.
 * - A changed class or Secret ends the shortage.
 * - A new process starts without this state. Machines with the error in their status start with one probe.
 */
export class CapacityGate {
  readonly #options: CapacityOptions;
  readonly #backoff: Backoff;
  readonly #entries = new Map<string, Entry>();

  constructor(options: CapacityOptions) {
    this.#options = options;
    const firstMs = options.firstMs > 0 ? options.firstMs : LONG_RETRY_MS;
    this.#backoff = { firstMs, maxMs: firstMs * LONGEST_IN_FIRSTS };
  }

  /** The shortage that concerns a machine, if any. */
  of(machine: Machine, inputs: string): Shortage | undefined {
    const entry = this.#find(machine, inputs);
    if (!entry) return undefined;
    const { error, retryAt, probing, allowed } = entry;
    const { clock } = this.#options;
    // The planner compares this instant with the system clock.
    const leftMs = retryAt - clock.monotonic();
    return { error, retryAt: new Date(clock.now().getTime() + leftMs), free: probing.size < allowed };
  }

  /** Registers the machine to be woken when it may retry. */
  waits(machine: Machine, inputs: string): void {
    this.#find(machine, inputs)?.waiting.add(keyOf(machine));
  }

  /** A creation begins. */
  began(machine: Machine, inputs: string): void {
    const reported = machine.status?.lastOperation;
    const entry =
      this.#find(machine, inputs) ??
      (reported?.errorCode === 'ResourceExhausted'
        ? this.#open(machine, inputs, new MachineError('ResourceExhausted', reported.description ?? ''))
        : undefined);
    entry?.probing.add(machine.metadata.uid);
    entry?.waiting.delete(keyOf(machine));
  }

  /** A creation ended, or ignores its abort signal. */
  ended(machine: Machine, inputs: string, outcome: CallOutcome): void {
    const entry = this.#find(machine, inputs);
    const probed = entry?.probing.delete(machine.metadata.uid) ?? false;
    if (!outcome.ok && outcome.error.code === 'ResourceExhausted') {
      this.#refused(machine, inputs, outcome.error, entry, probed);
    } else if (entry && outcome.ok && probed) {
      entry.failures = 0;
      entry.allowed *= 2;
      if (entry.waiting.size === 0 || entry.allowed >= OPEN_FROM) this.#entries.delete(keyFor(machine));
    }
    if (entry && probed) this.#wakeAll(entry);
  }

  #find(machine: Machine, inputs: string): Entry | undefined {
    const entry = this.#entries.get(keyFor(machine));
    return entry?.inputs === inputs ? entry : undefined;
  }

  /** Ignores calls that began before the first refusal. Only a probe changes a known shortage. */
  #refused(machine: Machine, inputs: string, error: MachineError, known: Entry | undefined, probed: boolean): void {
    if (known && !probed) return;
    const entry = known ?? this.#open(machine, inputs, error);
    entry.error = error;
    entry.failures++;
    entry.allowed = 1;
    const ms = retryAfter(this.#backoff, error, entry.failures);
    const jitter = entry.failures === 1 ? 0 : Math.floor(ms * JITTER * this.#options.random.next());
    entry.retryAt = this.#options.clock.monotonic() + ms + jitter;
  }

  #open(machine: Machine, inputs: string, error: MachineError): Entry {
    const now = this.#options.clock.monotonic();
    for (const [key, { retryAt, probing }] of this.#entries) {
      if (probing.size === 0 && retryAt + FORGET_AFTER_MS < now) this.#entries.delete(key);
    }
    const entry: Entry = {
      inputs,
      error,
      failures: 0,
      retryAt: now,
      allowed: 1,
      probing: new Set(),
      waiting: new Set(),
    };
    const before = this.#entries.get(keyFor(machine));
    this.#entries.set(keyFor(machine), entry);
    if (before) this.#wakeAll(before);
    return entry;
  }

  /** Wakes all waiting machines. Each one then waits again or calls `create`, up to the limit. */
  #wakeAll({ waiting }: Entry): void {
    const keys = [...waiting];
    waiting.clear();
    for (const key of keys) this.#options.wake(key);
  }
}
