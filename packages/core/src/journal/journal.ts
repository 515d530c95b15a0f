import type { KubeObject } from '@mcm/kube';

/**
 * The kinds of decisions. Journals of older versions contain the names of decision kinds, so the names must never
 * change.
 */
export const DECISION_KINDS = [
  'machinedeployment',
  'machineset',
  'overshoot',
  'machine',
  'drain',
  'orphanvm',
  'orphannode',
] as const;
/** A kind of decision. */
export type DecisionKind = (typeof DECISION_KINDS)[number];

/** The object about which a controller decides. */
export interface Subject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * A decision for the journal. The journal keeps references to the parts of a decision, so no code may change these
 * parts later.
 */
export interface Decided {
  readonly kind: DecisionKind;
  readonly subject: Subject;
  readonly at: Date;
  readonly input: object;
  readonly decision: unknown;
  readonly because: string;
  /** The actions of the decision, or an empty list if the object waits. */
  readonly actions: readonly string[];
}

/** A record of one decision, or of several consecutive equal decisions. */
export interface JournalEntry extends Decided {
  readonly firstAt: Date;
  readonly count: number;
  /** The result of the actions, or `running` while they are in progress. */
  readonly outcome: string;
}

/** The limits of a journal. */
export interface JournalLimits {
  readonly perObject: number;
  /**
   * The maximum number of records. The journal removes the oldest records first. Decisions without actions use at most
   * half of the records, because the decisions about idle objects would displace other records.
   */
  readonly total: number;
}

const DONE = 'done';
const RUNNING = 'running';

const LONGEST_OUTCOME = 500;

interface Slot {
  entry: JournalEntry;
  readonly key: string;
}

export interface OpenEntry {
  ended(problem?: string): void;
}

const CLOSED: OpenEntry = { ended: () => undefined };

export const subjectOf = (kind: string, { metadata }: KubeObject): Subject => ({
  kind,
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  uid: metadata.uid,
});

/**
 * Keeps the last decisions about each object in the memory of the process.
 * - Consecutive equal decisions are one record, with a count and the newest input.
 */
export class Journal {
  readonly #limits: JournalLimits;
  readonly #byObject = new Map<string, Slot[]>();
  readonly #acting = new Set<Slot>();
  readonly #waiting = new Set<Slot>();

  constructor(limits: JournalLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#acting.size + this.#waiting.size;
  }

  record(decided: Decided): OpenEntry {
    if (this.#limits.total === 0 || this.#limits.perObject === 0) return CLOSED;
    const key = `${decided.kind} ${decided.subject.uid}`;
    const last = this.#byObject.get(key)?.at(-1);
    const outcome = decided.actions.length === 0 ? DONE : RUNNING;
    if (last !== undefined && isRepeated(last.entry, decided)) {
      const { firstAt, count } = last.entry;
      last.entry = { ...decided, firstAt, count: count + 1, outcome };
      return this.#open(last, last.entry);
    }
    const slot: Slot = { entry: { ...decided, firstAt: decided.at, count: 1, outcome }, key };
    this.#add(slot);
    return this.#open(slot, slot.entry);
  }

  #add(slot: Slot): void {
    const mine = this.#byObject.get(slot.key) ?? [];
    if (mine.length === 0) this.#byObject.set(slot.key, mine);
    mine.push(slot);
    const { perObject, total } = this.#limits;
    const [oldest] = mine;
    if (mine.length > perObject && oldest !== undefined) this.#remove(oldest);
    const same = slot.entry.actions.length > 0 ? this.#acting : this.#waiting;
    same.add(slot);
    const [first] = same;
    if (same.size > total / 2 && first !== undefined) this.#remove(first);
  }

  #remove(slot: Slot): void {
    this.#acting.delete(slot);
    this.#waiting.delete(slot);
    const mine = this.#byObject.get(slot.key) ?? [];
    mine.splice(mine.indexOf(slot), 1);
    if (mine.length === 0) this.#byObject.delete(slot.key);
  }

  #open(slot: Slot, open: JournalEntry): OpenEntry {
    if (open.outcome === DONE) return CLOSED;
    return {
      ended: (problem) => {
        // A newer decision with its own outcome may have replaced the decision in the record.
        if (slot.entry !== open) return;
        slot.entry = {
          ...open,
          outcome: problem === undefined ? DONE : `failed: ${problem.slice(0, LONGEST_OUTCOME)}`,
        };
      },
    };
  }

  entries(): readonly JournalEntry[] {
    return [...this.#byObject.values()]
      .flatMap((slots) => slots.map(({ entry }) => entry))
      .sort((a, b) => a.at.getTime() - b.at.getTime());
  }
}

const isRepeated = (last: JournalEntry, { because, actions }: Decided): boolean =>
  last.because === because &&
  last.actions.length === actions.length &&
  last.actions.every((action, i) => action === actions[i]);
