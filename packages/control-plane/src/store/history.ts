import { ChangeLog } from './change-log.ts';
import type { Demand } from './demand.ts';
import { OrderedKeys } from './ordered-keys.ts';
import { answerOf, KEY, keyOf, type Pin, pinsOf, questionOf } from './pin.ts';
import type { StoreEvent } from './store.ts';

export interface HistoryLimits {
  /** The maximum age of a change, in milliseconds. */
  readonly maxAgeMs: number;
  /** The maximum number of changes for each resource. */
  readonly maxEvents: number;
}

/**
 * The maximum number of indexes of a resource. The index by object does not count. Each index needs memory and makes
 * writes slower.
 */
const MAX_INDEXES = 16;

/**
 * An index of changes. Each change has a new object and a previous object. The index stores the change under the values
 * of both objects.
 */
class ChangeIndex {
  readonly #question: Omit<Pin, 'value'>;
  readonly #logs = new Map<string, ChangeLog>();

  constructor(question: Omit<Pin, 'value'>) {
    this.#question = question;
  }

  get(value: string): ChangeLog | undefined {
    return this.#logs.get(value);
  }

  push(event: StoreEvent): void {
    for (const value of this.#valuesOf(event)) {
      let log = this.#logs.get(value);
      if (log === undefined) {
        log = new ChangeLog();
        this.#logs.set(value, log);
      }
      log.push(event);
    }
  }

  drop(event: StoreEvent, end: 'oldest' | 'newest'): void {
    for (const value of this.#valuesOf(event)) {
      const log = this.#logs.get(value);
      if (end === 'oldest') log?.dropOldest();
      else log?.dropNewest();
      if (log?.size === 0) this.#logs.delete(value);
    }
  }

  #valuesOf({ record, previous }: StoreEvent): readonly string[] {
    const value = answerOf(record, this.#question);
    if (previous === undefined || this.#question.field === KEY) return [value];
    const before = answerOf(previous, this.#question);
    return before === value ? [value] : [value, before];
  }
}

/**
 * The latest changes of one resource, the oldest first. A new change removes old changes, so the history needs no
 * timer. If an index for the requirement exists, a replay reads only matching changes.
 */
export class History {
  readonly #limits: HistoryLimits;
  readonly #all = new ChangeLog();
  readonly #objects = new ChangeIndex({ field: KEY, scoped: false });
  readonly #indexes = new Map<string, ChangeIndex>();
  /**
   * The keys of deleted objects whose changes are still in the history. A read at an older revision needs these keys.
   */
  readonly gone = new OrderedKeys();
  #compacted: number;

  /** @param compacted The history contains no changes up to this revision. */
  constructor(limits: HistoryLimits, compacted: number) {
    this.#limits = limits;
    this.#compacted = compacted;
  }

  /** The history contains no changes up to this revision. */
  get compactedRevision(): number {
    return this.#compacted;
  }

  add(event: StoreEvent): void {
    this.#all.push(event);
    this.#objects.push(event);
    for (const index of this.#indexes.values()) index.push(event);
    if (event.type === 'DELETED') this.gone.add(keyOf(event.record));
    else if (event.type === 'ADDED') this.gone.delete(keyOf(event.record));
    this.#forget(event.time - this.#limits.maxAgeMs);
  }

  compact(revision: number): void {
    this.#forget(Number.NEGATIVE_INFINITY, revision);
    this.#compacted = Math.max(this.#compacted, revision);
  }

  /** Removes all changes from a revision on, because the store could not write them. */
  takeBack(revision: number): void {
    for (;;) {
      const { newest } = this.#all;
      if (newest === undefined || newest.revision < revision) return;
      this.#all.dropNewest();
      this.#drop(newest, 'newest');
      const key = keyOf(newest.record);
      if (newest.type === 'DELETED') this.gone.delete(key);
      else if (this.#objects.get(key)?.newest?.type === 'DELETED') this.gone.add(key);
    }
  }

  /**
   * Returns the changes after a revision that can match the requirements. If the history no longer contains some of
   * these changes, the result is undefined.
   */
  since(revision: number, where: readonly Demand[] = []): readonly StoreEvent[] | undefined {
    if (revision < this.#compacted) return undefined;
    const pins = pinsOf(where);
    if (pins.length === 0) return this.#all.after(revision);
    let shortest: ChangeLog | undefined;
    for (const pin of pins) {
      const log = this.#index(pin).get(pin.value);
      if (log === undefined) return [];
      if (shortest === undefined || log.size < shortest.size) shortest = log;
    }
    return shortest?.after(revision) ?? [];
  }

  /** Returns the first change after a revision. `of` selects one object, all objects in a namespace, or all objects. */
  firstAfter(revision: number, of: { key?: string; namespace?: string | undefined }): StoreEvent | undefined {
    if (of.key !== undefined) return this.#objects.get(of.key)?.firstAfter(revision);
    if (of.namespace === undefined) return this.#all.firstAfter(revision);
    const pin = { field: 'metadata.namespace', scoped: false, value: of.namespace };
    return this.#index(pin).get(pin.value)?.firstAfter(revision);
  }

  /**
   * Returns the index for a requirement. The first request creates the index. If too many indexes exist, the method
   * removes the least recently used index.
   */
  #index(pin: Pin): ChangeIndex {
    if (pin.field === KEY) return this.#objects;
    const question = questionOf(pin);
    let index = this.#indexes.get(question);
    if (index === undefined) {
      const [oldest] = this.#indexes.keys();
      if (oldest !== undefined && this.#indexes.size >= MAX_INDEXES) this.#indexes.delete(oldest);
      index = new ChangeIndex(pin);
      for (const event of this.#all.after(this.#compacted)) index.push(event);
    }
    this.#indexes.delete(question);
    this.#indexes.set(question, index);
    return index;
  }

  #drop(event: StoreEvent, end: 'oldest' | 'newest'): void {
    this.#objects.drop(event, end);
    for (const index of this.#indexes.values()) index.drop(event, end);
  }

  /**
   * @param before The method removes the changes before this time, in milliseconds since the epoch.
   * @param upTo The function also removes all changes up to this revision, regardless of their time.
   */
  #forget(before: number, upTo = 0): void {
    for (;;) {
      const { oldest } = this.#all;
      if (oldest === undefined) break;
      const isKept = oldest.revision > upTo && oldest.time >= before;
      if (this.#all.size <= this.#limits.maxEvents && isKept) break;
      this.#compacted = oldest.revision;
      this.#all.dropOldest();
      this.#drop(oldest, 'oldest');
      const key = keyOf(oldest.record);
      if (oldest.type === 'DELETED' && this.#objects.get(key) === undefined) this.gone.delete(key);
    }
  }
}
