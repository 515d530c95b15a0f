import type { KubeObject } from '@mcm/kube';

/** The kinds of decisions in a journal. A name never changes, because records of other versions contain it. */
export const DECISION_KINDS = ['machinedeployment', 'machineset', 'overshoot', 'machine', 'drain', 'orphanvm'] as const;
/** The name of a kind of decision. */
export type DecisionKind = (typeof DECISION_KINDS)[number];

/** The object of a decision. */
export interface Subject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A decision as a controller reports it. It is kept by reference, so nothing in it may change later. */
export interface Decided {
  readonly kind: DecisionKind;
  readonly subject: Subject;
  readonly at: Date;
  /** Everything that the decision read. */
  readonly input: object;
  /** The result of the pure function. */
  readonly decision: unknown;
  /** The reason as a sentence. */
  readonly because: string;
  /** Names of the actions. Empty: the object waits. */
  readonly actions: readonly string[];
}

/** One record: a decision, or several equal ones in a row. It contains the input of the last one. */
export interface JournalEntry extends Decided {
  /** The time of the first of the equal decisions. */
  readonly firstAt: Date;
  readonly count: number;
  /** `running`: the actions have not ended. */
  readonly outcome: string;
}

/** The limits of a journal. */
export interface JournalLimits {
  /** Records of one object. */
  readonly perObject: number;
  /**
   * Records of all objects. The oldest ones are removed first. Half of them are for decisions without actions, so that many
   * idle objects do not remove the others.
   */
  readonly total: number;
}

/** The outcome of actions that ended without an error. */
const DONE = 'done';
/** The outcome of actions that have not ended. */
const RUNNING = 'running';

/** Longer texts of errors are cut. */
const LONGEST_OUTCOME = 500;

/** A record that the journal still changes. */
interface Slot {
  entry: JournalEntry;
  readonly key: string;
}

/** Writes the outcome of a decision into its record. */
export interface OpenEntry {
  /** The actions ended. @param problem the error, without secrets; absent: none */
  ended(problem?: string): void;
}

const CLOSED: OpenEntry = { ended: () => undefined };

/** The subject of a decision about an object. */
export const subjectOf = (kind: string, { metadata }: KubeObject): Subject => ({
  kind,
  namespace: metadata.namespace ?? '',
  name: metadata.name,
  uid: metadata.uid,
});

/**
 * The last decisions about each object, in the memory of this process.
 *
 * - A record contains references to the objects of the caches, which never change. So a record costs no copy.
 * - Equal decisions in a row are one record with a count and the newest input.
 * - The work for a decision does not depend on the number of objects.
 */
export class Journal {
  readonly #limits: JournalLimits;
  /** By kind of decision and UID of the object, oldest first. */
  readonly #byObject = new Map<string, Slot[]>();
  /** All records with actions, and all without, oldest first. */
  readonly #acting = new Set<Slot>();
  readonly #waiting = new Set<Slot>();

  constructor(limits: JournalLimits) {
    this.#limits = limits;
  }

  /** Number of records. */
  get size(): number {
    return this.#acting.size + this.#waiting.size;
  }

  /** Adds a decision. */
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
        // A newer decision of the same record has its own outcome.
        if (slot.entry !== open) return;
        slot.entry = {
          ...open,
          outcome: problem === undefined ? DONE : `failed: ${problem.slice(0, LONGEST_OUTCOME)}`,
        };
      },
    };
  }

  /** All records in the order of the last time, and those of one object in the order of its decisions. */
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
