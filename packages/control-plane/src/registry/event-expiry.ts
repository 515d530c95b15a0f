import type { Timer } from '../apimachinery/objects/clock.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import type { Registry } from '../resources/registry.ts';

export const EVENT_TTL_MS = 3_600_000;

const SHARED_MS = 60_000;
const RESOURCE = '/events';

interface Key {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Groups events whose last writes happened at almost the same time. The memory use depends on the number of events, but
 * not on the number of writes.
 */
class Batches {
  readonly #batches = new Map<number, Map<string, Key>>();
  readonly #batchOf = new Map<string, number>();

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

  /** Returns the key of the oldest batch. */
  oldest(): number | undefined {
    return this.#batches.size === 0 ? undefined : Math.min(...this.#batches.keys());
  }

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
 * Deletes each event `ttlMs` milliseconds after its last write, with a delay of up to one minute. The value 0 disables
 * the deletion. In a reopened store, the last write of an event is unknown, so the latest time in the event counts.
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
    // If the disk was full, the deletion of expired events may have failed.
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
