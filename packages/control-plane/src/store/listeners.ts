import type { Demand } from './demand.ts';
import { answerOf, labelOf, type Pin, pinsOf, questionOf } from './pin.ts';
import type { StoredRecord } from './record.ts';
import type { StoreEvent, StoreListener } from './store.ts';

type Group = Set<StoreListener>;

/** The listeners of one index, by the value that they require. */
interface Asked {
  readonly question: Omit<Pin, 'value'>;
  readonly groups: Map<string, Group>;
}

function ask(all: ReadonlyMap<string, Asked> | undefined, record: StoredRecord, into: Set<Group>): void {
  for (const { question, groups } of all?.values() ?? []) {
    const group = groups.get(answerOf(record, question));
    if (group !== undefined) into.add(group);
  }
}

/**
 * The listeners of a resource. The store sends an event only to listeners whose requirements match the new or the
 * previous object of the event.
 */
export class Listeners {
  readonly #all: Group = new Set();
  readonly #fields = new Map<string, Asked>();
  /** The listeners that require a value of a label, by the name of the label. */
  readonly #labels = new Map<string, Map<string, Asked>>();

  /** Adds a listener, and returns a function that removes it. Without requirements, the listener gets all changes. */
  add(listener: StoreListener, where: readonly Demand[]): () => void {
    const pin = this.#leastAsked(pinsOf(where));
    if (pin === undefined) {
      this.#all.add(listener);
      return () => this.#all.delete(listener);
    }
    const asked = this.#about(pin);
    const question = questionOf(pin);
    const { groups } = asked.get(question) ?? { groups: new Map<string, Group>() };
    asked.set(question, { question: pin, groups });
    const group = groups.get(pin.value) ?? new Set();
    groups.set(pin.value, group);
    group.add(listener);
    return () => {
      group.delete(listener);
      if (group.size === 0 && groups.get(pin.value) === group) groups.delete(pin.value);
      if (groups.size > 0 || asked.get(question)?.groups !== groups) return;
      asked.delete(question);
      const label = labelOf(pin);
      if (label !== undefined && asked.size === 0 && this.#labels.get(label) === asked) this.#labels.delete(label);
    };
  }

  deliver(event: StoreEvent): void {
    for (const listener of [...this.#all]) listener(event);
    const concerned = new Set<Group>();
    this.#find(event.record, concerned);
    if (event.previous !== undefined) this.#find(event.previous, concerned);
    for (const group of concerned) for (const listener of [...group]) listener(event);
  }

  clear(): void {
    this.#all.clear();
    this.#fields.clear();
    this.#labels.clear();
  }

  #about(pin: Pin): Map<string, Asked> {
    const label = labelOf(pin);
    if (label === undefined) return this.#fields;
    const asked = this.#labels.get(label) ?? new Map<string, Asked>();
    this.#labels.set(label, asked);
    return asked;
  }

  #asked(pin: Pin): ReadonlyMap<string, Asked> | undefined {
    const label = labelOf(pin);
    return label === undefined ? this.#fields : this.#labels.get(label);
  }

  #leastAsked(pins: readonly Pin[]): Pin | undefined {
    const share = (pin: Pin): number => this.#asked(pin)?.get(questionOf(pin))?.groups.get(pin.value)?.size ?? 0;
    const [first, ...others] = pins;
    return others.reduce((least, pin) => (least === undefined || share(pin) < share(least) ? pin : least), first);
  }

  #find(record: StoredRecord, into: Set<Group>): void {
    // A kind has few selectable fields, so the method looks up all of them. A listener without a label usually matches
    // most objects.
    ask(this.#fields, record, into);
    // Listeners can select any label. The method looks up the listeners of each label of the record, not all listeners.
    if (this.#labels.size === 0 || record.labels === undefined) return;
    for (const key of Object.keys(record.labels)) ask(this.#labels.get(key), record, into);
  }
}
