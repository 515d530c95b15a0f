import type { Clock } from '../apimachinery/objects/clock.ts';
import type { Demand } from './demand.ts';
import { History, type HistoryLimits } from './history.ts';
import { Listeners } from './listeners.ts';
import type { StoredRecord } from './record.ts';
import { ResourceTable } from './resource-table.ts';
import type { PageOptions, RecordDraft, RecordPage, Store, StoreEvent, StoreListener, StoreSnapshot } from './store.ts';
import type { Words } from './word-index.ts';

const DEFAULT_LIMITS: HistoryLimits = { maxAgeMs: 5 * 60_000, maxEvents: 20_000 };

interface Resource {
  readonly table: ResourceTable;
  readonly history: History;
  readonly listeners: Listeners;
}

/**
 * A store in memory. A durable store extends the class, overrides `journal`, and delays events until the writes are
 * durable.
 */
export class MemoryStore implements Store {
  readonly #clock: Clock;
  readonly #limits: HistoryLimits;
  readonly #resources = new Map<string, Resource>();
  #revision: number;
  readonly #firstRevision: number;

  constructor(clock: Clock, limits: Partial<HistoryLimits> = {}, revision = 1) {
    this.#clock = clock;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    this.#revision = revision;
    this.#firstRevision = revision;
  }

  get historyMs(): number {
    return this.#limits.maxAgeMs;
  }

  revision(): number {
    return this.#revision;
  }

  deliveredRevision(): number {
    return this.#revision;
  }

  compactedRevision(resource: string): number {
    return this.#resource(resource).history.compactedRevision;
  }

  compact(): void {
    for (const { history } of this.#resources.values()) history.compact(this.deliveredRevision());
  }

  get(resource: string, namespace: string, name: string): StoredRecord | undefined {
    return this.#resources.get(resource)?.table.get(namespace, name);
  }

  list(resource: string, options: PageOptions = {}): RecordPage {
    const { table, history } = this.#resource(resource);
    if (options.revision === undefined) return table.page(options);
    if (options.revision < history.compactedRevision) {
      throw new RangeError(`revision ${options.revision} has been compacted`);
    }
    return table.pageAt(options.revision, history, options);
  }

  count(resource: string): number {
    return this.#resources.get(resource)?.table.size ?? 0;
  }

  find(resource: string, words: Words, asked: Iterable<string>): readonly StoredRecord[] {
    return this.#resource(resource).table.find(words, asked);
  }

  put(resource: string, draft: RecordDraft): StoredRecord {
    const record = this.#record(draft);
    const previous = this.#resource(resource).table.set(record);
    this.#emit(resource, previous === undefined ? 'ADDED' : 'MODIFIED', record, previous);
    return record;
  }

  delete(resource: string, draft: RecordDraft): StoredRecord {
    const { table } = this.#resource(resource);
    const previous = table.get(draft.namespace, draft.name);
    if (previous === undefined)
      throw new Error(`cannot delete ${resource} ${draft.namespace}/${draft.name}: it does not exist`);
    const record = this.#record(draft);
    table.delete(draft.namespace, draft.name);
    this.#emit(resource, 'DELETED', record, previous);
    return record;
  }

  settled(): Promise<void> {
    return Promise.resolve();
  }

  since(resource: string, revision: number, where: readonly Demand[] = []): readonly StoreEvent[] | undefined {
    return this.#resource(resource).history.since(revision, where);
  }

  subscribe(resource: string, listener: StoreListener, where: readonly Demand[] = []): () => void {
    return this.#resource(resource).listeners.add(listener, where);
  }

  close(): void {
    for (const resource of this.#resources.values()) resource.listeners.clear();
  }

  snapshot(): StoreSnapshot {
    const objects = [...this.#resources].flatMap(([resource, { table }]) =>
      table.page({}).records.map((record) => ({ resource, record })),
    );
    return { revision: this.#revision, objects };
  }

  /** Creates a store from a backup. The store contains no changes from before the backup. */
  static of(
    { objects, revision }: StoreSnapshot,
    clock: Clock,
    limits: Partial<HistoryLimits> = {},
    bump = 0,
  ): MemoryStore {
    const store = new MemoryStore(clock, limits, revision + bump);
    for (const { resource, record } of objects) store.restore(resource, record);
    return store;
  }

  /** Adds a record from a file or backup. The method sends no event and adds no change to the history. */
  protected restore(resource: string, record: StoredRecord): void {
    this.#resource(resource).table.set(record);
  }

  /**
   * Called once for each write, in the order of the writes. `deliver` sends the event of the write. The subclass must
   * call `deliver` in the same order.
   */
  protected journal(_event: StoreEvent, deliver: () => void): void {
    deliver();
  }

  /**
   * Undoes a write. Writes must be undone from the newest to the oldest. The store never uses the revision of an undone
   * write again.
   */
  protected takeBack({ resource, revision, record, previous }: StoreEvent): void {
    const { table, history } = this.#resource(resource);
    if (previous === undefined) table.delete(record.namespace, record.name);
    else table.set(previous);
    history.takeBack(revision);
  }

  #record(draft: RecordDraft): StoredRecord {
    const revision = this.#revision + 1;
    // If `render` throws an error, the counter of revisions stays unchanged.
    const json = draft.render(revision);
    this.#revision = revision;
    const { namespace, name, labels, fields } = draft;
    return { namespace, name, revision, json, labels, fields };
  }

  #emit(name: string, type: StoreEvent['type'], record: StoredRecord, previous: StoredRecord | undefined): void {
    const resource = this.#resource(name);
    const time = this.#clock.now().getTime();
    const { table } = resource;
    const population = { all: table.size, namespace: table.sizeOf(record.namespace) };
    const event: StoreEvent = { type, resource: name, revision: record.revision, time, record, previous, population };
    resource.history.add(event);
    this.journal(event, () => resource.listeners.deliver(event));
  }

  #resource(name: string): Resource {
    let resource = this.#resources.get(name);
    if (resource === undefined) {
      resource = {
        table: new ResourceTable(),
        history: new History(this.#limits, this.#firstRevision),
        listeners: new Listeners(),
      };
      this.#resources.set(name, resource);
    }
    return resource;
  }
}
