import type { Sink } from '../../apimachinery/http/exchange.ts';
import type { Timer } from '../../apimachinery/objects/clock.ts';
import { parseJson, stringifyJson } from '../../apimachinery/objects/json.ts';
import { type Status, StatusError } from '../../apimachinery/objects/status.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import type { ListOptions } from '../../resources/options.ts';
import type { Registry, Target } from '../../resources/registry.ts';
import type { Demand } from '../../store/demand.ts';
import type { StoredRecord } from '../../store/record.ts';
import type { StoreEvent } from '../../store/store.ts';
import { awaitVersion, namespaceOf, parseResourceVersion, parseSelection, type Selection } from './list.ts';

/** The maximum number of unread events of a client. If a client has more, the server ends its watch. */
const MAX_QUEUED_EVENTS = 16_384;
/**
 * The maximum number of characters in the unread objects of a client. If a client has more, the server ends its watch.
 */
const MAX_QUEUED_LENGTH = 32 * 1024 * 1024;
const BOOKMARK_EVERY_MS = 60_000;
const LAST_BOOKMARK_MS = 2_000;
/** The maximum duration of a watch is twice the minimum. */
const MIN_TIMEOUT_MS = 1_800_000;
/** The maximum delay of a timer. Node.js would fire a timer with a longer delay immediately. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

/** The error if the server cannot send objects in the requested format. */
export class WrongFormError extends Error {}

export interface WatchFormat {
  /** A key of the format. Watches with the same key share encoded events. */
  readonly shareKey: string | undefined;
  /** @throws WrongFormError if the format cannot represent the object */
  object(text: string, first: boolean): string;
  /** @throws WrongFormError if the format cannot represent the object */
  bookmark(resourceVersion: string, initialEventsEnd: boolean, first: boolean): string;
  frame(type: EventType, object: string): Uint8Array;
}

const encoder = new TextEncoder();

export const frame = (type: EventType, object: string): Uint8Array =>
  encoder.encode(`{"type":"${type}","object":${object}}\n`);

let delivered: { readonly event: StoreEvent; readonly frames: Map<string, Uint8Array> } | undefined;

function sharedFrame(event: StoreEvent, key: string, make: () => Uint8Array): Uint8Array {
  // The cache contains only the current event, because all watches receive an event in one turn of the event loop.
  if (delivered?.event !== event) delivered = { event, frames: new Map() };
  const { frames } = delivered;
  let bytes = frames.get(key);
  if (bytes === undefined) {
    bytes = make();
    frames.set(key, bytes);
  }
  return bytes;
}

export interface Watch {
  run(sink: Sink): void;
}

/**
 * Prepares a watch.
 * @throws StatusError 400, 422 or 500 for an invalid request
 */
export async function openWatch(
  registry: Registry,
  target: Target,
  options: ListOptions,
  format: WatchFormat,
): Promise<Watch> {
  const { served } = target;
  const selection = parseSelection(served, options, target.name);
  const version = parseResourceVersion(options.resourceVersion, 500);
  const missing = await missingState(registry, version, options);
  if (missing !== undefined) {
    return {
      run: (sink) => {
        sink.write(format.frame('ERROR', JSON.stringify(missing)));
        sink.end();
      },
    };
  }
  // A watch with a negative timeout expires immediately.
  if (options.timeoutSeconds !== undefined && options.timeoutSeconds < 0) return { run: (sink) => sink.end() };
  // Without a version, or with the version 0, a watch starts with the existing objects by default.
  const fresh = version === undefined || version === 0;
  const initial = options.sendInitialEvents ?? fresh;
  return {
    run: (sink) =>
      new Watcher(registry, target, selection, options, format, sink).start(
        initial ? 'state' : fresh ? 'now' : version,
      ),
  };
}

/** Returns the error as a watch event, because the response has already started. */
async function missingState(
  registry: Registry,
  version: number | undefined,
  { resourceVersion, sendInitialEvents }: ListOptions,
): Promise<Status | undefined> {
  // Only a watch without initial events may start at a future version.
  if (sendInitialEvents !== true) return undefined;
  try {
    await awaitVersion(registry, version, resourceVersion);
    return undefined;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return error.status;
  }
}

type Queued = () => Uint8Array | undefined;

/** Waiting events are functions, so that the watch encodes no events that it never sends. */
class Watcher {
  readonly #registry: Registry;
  readonly #served: ServedKind;
  readonly #within: string | undefined;
  readonly #selection: Selection;
  readonly #options: ListOptions;
  readonly #format: WatchFormat;
  readonly #sink: Sink;
  readonly #timers = new Set<Timer>();
  #queue: Queued[] = [];
  #head = 0;
  #events = 0;
  #length = 0;
  #seen = 0;
  #sent = false;
  #blocked = false;
  #ending = false;
  #closed = false;
  #unsubscribe: (() => void) | undefined;

  constructor(
    registry: Registry,
    target: Target,
    selection: Selection,
    options: ListOptions,
    format: WatchFormat,
    sink: Sink,
  ) {
    this.#registry = registry;
    this.#served = target.served;
    this.#within = namespaceOf(target);
    this.#selection = selection;
    this.#options = options;
    this.#format = format;
    this.#sink = sink;
  }

  start(from: 'state' | 'now' | number): void {
    const { store } = this.#registry;
    this.#sink.onClose(() => this.#close());
    this.#sink.onDrain(() => {
      this.#blocked = false;
      this.#pump();
    });
    if (from === 'state') this.#sendState();
    else if (from === 'now') this.#seen = this.#durable();
    else if (!this.#replay(from)) return;
    this.#unsubscribe = store.subscribe(this.#served.resource, (event) => this.#onEvent(event), this.#where());
    this.#schedule();
    this.#pump();
  }

  #where(): readonly Demand[] {
    const { where } = this.#selection;
    return this.#within === undefined ? where : [...where, { field: 'metadata.namespace', value: this.#within }];
  }

  /**
   * Returns the revision with which the watch starts. A crash can undo later changes, so the store delivers the later
   * changes when they are durable.
   */
  #durable(): number {
    const { store } = this.#registry;
    return Math.max(store.deliveredRevision(), store.compactedRevision(this.#served.resource));
  }

  #sendState(): void {
    const { store } = this.#registry;
    const { resource } = this.#served;
    this.#seen = this.#durable();
    const { where, matches } = this.#selection;
    // A list at an older revision is slower, so the watch requests a revision only if the store has a newer one.
    const revision = this.#seen < store.revision() ? this.#seen : undefined;
    for (const record of store.list(resource, { namespace: this.#within, where, revision }).records) {
      if (matches !== undefined && !matches(record)) continue;
      this.#queue.push(() => this.#format.frame('ADDED', this.#show(this.#served.textOf(record))));
    }
    if (this.#options.allowWatchBookmarks) this.#queue.push(() => this.#bookmark(this.#seen, true));
  }

  /** Sends the changes since a version. */
  #replay(version: number): boolean {
    const { store } = this.#registry;
    const events = store.since(this.#served.resource, version, this.#where());
    if (events === undefined) {
      const oldest = store.compactedRevision(this.#served.resource);
      this.#queue.push(() => this.#format.frame('ERROR', JSON.stringify(tooOld(version, oldest))));
      this.#ending = true;
      this.#pump();
      return false;
    }
    this.#seen = version;
    const durable = this.#durable();
    // The limit for unread events ignores replayed events, so a client that missed many events can resume its watch.
    for (const event of events) {
      if (event.revision > durable) break;
      const queued = this.#next(event, false);
      if (queued !== undefined) this.#queue.push(queued);
    }
    return true;
  }

  #onEvent(event: StoreEvent): void {
    this.#enqueue(event);
    this.#pump();
  }

  /**
   * Converts an event of the store to an event of the watch.
   * @param isLive Whether the event is new. For a replayed event, kube-apiserver does not send the stored form of the
   * object.
   */
  #next(event: StoreEvent, isLive: boolean): Queued | undefined {
    // The objects that the watch sent after a compaction may already contain changes that the store delivers later.
    if (event.revision <= this.#seen) return undefined;
    this.#seen = event.revision;
    return this.#translate(event, isLive);
  }

  #enqueue(event: StoreEvent): void {
    const queued = this.#next(event, true);
    if (queued === undefined || this.#ending) return;
    const { length } = event.record.json;
    this.#events++;
    this.#length += length;
    if (this.#events > MAX_QUEUED_EVENTS || this.#length > MAX_QUEUED_LENGTH) {
      this.#queue = [];
      this.#head = 0;
      this.#ending = true;
      return;
    }
    this.#queue.push(() => {
      this.#events--;
      this.#length -= length;
      return queued();
    });
  }

  #translate(event: StoreEvent, isLive: boolean): Queued | undefined {
    if (this.#within !== undefined && event.record.namespace !== this.#within) return undefined;
    const { matches } = this.#selection;
    const { record, previous } = event;
    const before = previous !== undefined && (matches === undefined || matches(previous));
    const after = event.type !== 'DELETED' && (matches === undefined || matches(record));
    if (!before && !after) return undefined;
    if (after) return () => this.#eventFrame(event, before ? 'MODIFIED' : 'ADDED', record, isLive);
    if (event.type === 'DELETED') return () => this.#eventFrame(event, 'DELETED', record, isLive);
    return () => {
      const object = parseJson(previous?.json ?? '{}') as { metadata: { resourceVersion: string } };
      object.metadata.resourceVersion = String(event.revision);
      const json = stringifyJson(object);
      return this.#format.frame('DELETED', this.#show(this.#served.textOf({ ...record, json })));
    };
  }

  #eventFrame(event: StoreEvent, type: EventType, record: StoredRecord, isLive: boolean): Uint8Array {
    const text = (): string => (isLive ? this.#served.storedTextOf(record) : this.#served.textOf(record));
    const make = () => this.#format.frame(type, this.#show(text()));
    const { shareKey } = this.#format;
    return shareKey === undefined ? make() : sharedFrame(event, `${type} ${isLive} ${shareKey}`, make);
  }

  #show(text: string): string {
    const shown = this.#format.object(text, !this.#sent);
    this.#sent = true;
    return shown;
  }

  #bookmark(revision: number, initialEventsEnd: boolean): Uint8Array {
    const shown = this.#format.bookmark(String(revision), initialEventsEnd, !this.#sent);
    this.#sent = true;
    return this.#format.frame('BOOKMARK', shown);
  }

  /**
   * Encodes an event of the watch. As in kube-apiserver, the watch ends if the requested format cannot represent the
   * object.
   */
  #take(queued: Queued | undefined): Uint8Array | undefined {
    try {
      return queued?.();
    } catch (error) {
      if (!(error instanceof WrongFormError)) throw error;
      this.#ending = true;
      this.#queue.length = this.#head + 1;
      return undefined;
    }
  }

  #pump(): void {
    while (!this.#blocked && !this.#closed && this.#head < this.#queue.length) {
      const bytes = this.#take(this.#queue[this.#head]);
      this.#head++;
      if (bytes !== undefined && !this.#sink.write(bytes)) this.#blocked = true;
    }
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
      if (this.#ending && !this.#closed) {
        this.#sink.end();
        this.#close();
      }
    } else if (this.#head > 1024) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
  }

  #schedule(): void {
    const { timeoutSeconds, allowWatchBookmarks } = this.#options;
    const lasts =
      timeoutSeconds !== undefined && timeoutSeconds > 0
        ? Math.min(timeoutSeconds * 1000, MAX_TIMEOUT_MS)
        : MIN_TIMEOUT_MS * (1 + this.#registry.random());
    this.#after(lasts, () => {
      this.#ending = true;
      this.#pump();
    });
    if (!allowWatchBookmarks) return;
    if (lasts > LAST_BOOKMARK_MS) this.#after(lasts - LAST_BOOKMARK_MS, () => this.#sendBookmark());
    const tick = (): void => {
      this.#after(BOOKMARK_EVERY_MS, () => {
        this.#sendBookmark();
        tick();
      });
    };
    if (lasts > BOOKMARK_EVERY_MS) tick();
  }

  #sendBookmark(): void {
    // The store calls listeners in the order of revisions, so the watch has received all events up to this revision.
    const revision = Math.max(this.#seen, this.#registry.deliveredRevision());
    this.#queue.push(() => this.#bookmark(revision, false));
    this.#pump();
  }

  #after(ms: number, fn: () => void): void {
    const timer = this.#registry.clock.setTimeout(() => {
      this.#timers.delete(timer);
      if (!this.#closed) fn();
    }, ms);
    this.#timers.add(timer);
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#unsubscribe?.();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#queue = [];
  }
}

const tooOld = (asked: number, oldest: number): Status => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: `too old resource version: ${asked} (${oldest})`,
  reason: 'Expired',
  code: 410,
});
