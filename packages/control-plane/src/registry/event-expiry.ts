import type { Timer } from '../apimachinery/objects/clock.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import type { Registry } from '../resources/registry.ts';

/** How long kube-apiserver keeps events by default (`--event-ttl`), in milliseconds. */
export const EVENT_TTL_MS = 3_600_000;

/** The time span of a batch: events from one span expire together. The real server uses one etcd lease for a span. */
const SHARED_MS = 60_000;
const RESOURCE = '/events';

interface Key {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Events in batches by the time of their last write, with the oldest batch first. The key of a batch is the end of its
 * time span. The memory use depends on the number of events, and not on the number of writes.
 */
class Batches {
  readonly #batches = new Map<number, Map<string, Key>>();
  readonly #batchOf = new Map<string, number>();

  /** Records that an event was written at `time`. */
  note(key: Key, time: number): void {
    const id = `${key.namespace}/${key.name}`;
    const end = (Math.floor(time / SHARED_MS) + 1) * SHARED_MS;
    if (this.#batchOf.get(id) === end) return;
    this.forget(key);
    this.#batchOf.set(id, end);
    const batch = this.#batches.get(end);
    if (batch === undefined) this.#batches.set(end, new Map([[id, key]]));
    else batch.set(id, key);
  }

  forget({ namespace, name }: Key): void {
    const id = `${namespace}/${name}`;
    const end = this.#batchOf.get(id);
    if (end === undefined) return;
    this.#batchOf.delete(id);
    const batch = this.#batches.get(end);
    batch?.delete(id);
    if (batch?.size === 0) this.#batches.delete(end);
  }

  /** Returns the end of the oldest batch. There is at most one batch for each minute of the TTL. */
  oldest(): number | undefined {
    return this.#batches.size === 0 ? undefined : Math.min(...this.#batches.keys());
  }

  /** Removes a batch and returns its events. */
  take(end: number): readonly Key[] {
    const keys = [...(this.#batches.get(end)?.values() ?? [])];
    for (const key of keys) this.forget(key);
    return keys;
  }
}

const timeOf = (text: unknown): number => {
  const time = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? 0 : time;
};

function lastWrite(json: string): number {
  const event = JSON.parse(json) as ApiObject & { series?: { lastObservedTime?: unknown } };
  const times = [event.metadata.creationTimestamp, event.lastTimestamp, event.eventTime];
  return Math.max(...[...times, event.series?.lastObservedTime].map(timeOf));
}

/**
 * Deletes each event `ttlMs` milliseconds after its last write, or up to a minute later. If `ttlMs` is 0, events never
 * expire. All events share one timer. For an event in a reopened store, the latest time in the event counts as the time
 * of the last write. The result is a function that stops the deletion.
 */
export function expireEvents(registry: Registry, ttlMs: number): () => void {
  if (ttlMs <= 0) return () => undefined;
  const { store, clock } = registry;
  const batches = new Batches();
  let timer: Timer | undefined;

  const schedule = (): void => {
    if (timer !== undefined) return;
    const oldest = batches.oldest();
    if (oldest === undefined) return;
    timer = clock.setTimeout(expire, Math.max(0, oldest + ttlMs - clock.now().getTime()));
  };

  function expire(): void {
    timer = undefined;
    const now = clock.now().getTime();
    const due: Key[] = [];
    for (let end = batches.oldest(); end !== undefined && end + ttlMs <= now; end = batches.oldest()) {
      due.push(...batches.take(end));
    }
    for (const key of due) remove(key);
    // If a full disk prevented the deletion, the expired events still exist.
    store.settled().catch(() => {
      for (const key of due) batches.note(key, clock.now().getTime());
      schedule();
    });
    schedule();
  }

  function remove({ namespace, name }: Key): void {
    const served = registry.kinds.find('', 'v1', 'events');
    const record = store.get(RESOURCE, namespace, name);
    if (served !== undefined && record !== undefined) registry.remove(served, record);
  }

  const start = clock.now().getTime();
  for (const { namespace, name, json } of store.list(RESOURCE).records) {
    batches.note({ namespace, name }, Math.min(start, Math.max(start - ttlMs, lastWrite(json))));
  }
  const unsubscribe = store.subscribe(RESOURCE, ({ type, record: { namespace, name } }) => {
    if (type === 'DELETED') batches.forget({ namespace, name });
    else batches.note({ namespace, name }, clock.now().getTime());
    schedule();
  });
  schedule();
  return () => {
    timer?.cancel();
    unsubscribe();
  };
}
