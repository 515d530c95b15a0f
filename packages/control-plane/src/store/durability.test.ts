import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { settle, startTestPlane, type WatchEvent } from '../testing.ts';
import { FileStore } from './file-store.ts';
import { MemoryStore } from './memory-store.ts';
import type { StoreEvent } from './store.ts';

/** A store whose writes become durable when the test releases them. */
class HeldStore extends MemoryStore {
  #held = false;
  #delivered = super.revision();
  #waiting: (() => void)[] = [];
  #settled = Promise.withResolvers<void>();

  hold(): void {
    this.#held = true;
    this.#settled = Promise.withResolvers();
  }

  release(): void {
    this.#held = false;
    for (const deliver of this.#waiting.splice(0)) deliver();
    this.#settled.resolve();
  }

  override deliveredRevision(): number {
    return this.#delivered;
  }

  override settled(): Promise<void> {
    return this.#waiting.length === 0 ? Promise.resolve() : this.#settled.promise;
  }

  protected override journal({ revision }: StoreEvent, deliver: () => void): void {
    this.#waiting.push(() => {
      this.#delivered = revision;
      deliver();
    });
    if (!this.#held) this.release();
  }
}

const PATH = '/api/v1/namespaces/default/configmaps';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'durability-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true });
});

async function startHeldPlane() {
  const made: HeldStore[] = [];
  vi.spyOn(FileStore, 'open').mockImplementation((_dir, clock) => {
    const store = new HeldStore(clock);
    made.push(store);
    return store as unknown as FileStore;
  });
  const started = await startTestPlane({ store: { dir } });
  const [store] = made;
  if (store === undefined) throw new Error('the control plane has no store in a folder');
  return { ...started, store };
}

/** Starts requests, and returns the status of each answered request by its name. */
function tracked() {
  const answered: Record<string, number> = {};
  const track = (name: string, request: Promise<{ readonly status: number }>): void => {
    void request.then(({ status }) => {
      answered[name] = status;
    });
  };
  return { answered, track };
}

test('no answer contains a write before the write is durable: neither a write, a read, an error nor a deletion', async () => {
  const { client, plane, store } = await startHeldPlane();
  await client.send('POST', PATH, { metadata: { name: 'old' } });
  const { answered, track } = tracked();
  store.hold();
  track('create', client.send('POST', PATH, { metadata: { name: 'a' } }));
  await settle();
  track('create again', client.send('POST', PATH, { metadata: { name: 'a' } }));
  track(
    'update with an old version',
    client.send('PUT', `${PATH}/a`, { metadata: { name: 'a', resourceVersion: '1' } }),
  );
  track('read', client.send('GET', `${PATH}/a`));
  track('list', client.send('GET', PATH));
  track('delete', client.send('DELETE', `${PATH}/old`));
  await settle();
  track('delete again', client.send('DELETE', `${PATH}/old`));
  track('read of the deleted object', client.send('GET', `${PATH}/old`));
  await settle();
  expect(answered).toEqual({});
  store.release();
  await settle();
  expect(answered).toEqual({
    create: 201,
    'create again': 409,
    'update with an old version': 409,
    read: 200,
    list: 200,
    delete: 200,
    'delete again': 404,
    'read of the deleted object': 404,
  });
  await plane.close();
});

test('a watch that waits for a version starts when this version is durable, and shows no later write', async () => {
  const { client, clock, plane, store } = await startHeldPlane();
  const { body } = await client.send('GET', PATH);
  const next = Number(body.metadata.resourceVersion) + 1;
  const query = 'watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
  const watchFrom = (version: number) => client.watch(`${PATH}?${query}&resourceVersion=${version}`);
  const shown = ({ events }: { readonly events: readonly WatchEvent[] }): string[] =>
    events.map(({ type, object }) => `${type} ${object.metadata?.name ?? object.metadata?.resourceVersion}`);
  const opening = watchFrom(next);
  const expiring = watchFrom(next + 1);
  await clock.advance(1_000);
  await client.send('POST', PATH, { metadata: { name: 'durable' } });
  store.hold();
  const { answered, track } = tracked();
  track('create', client.send('POST', PATH, { metadata: { name: 'later' } }));
  await settle();
  const waiting = watchFrom(next + 1);
  await clock.advance(2_000);
  const opened = await opening;
  await settle();
  expect(shown(opened).slice(-2)).toEqual(['ADDED durable', `BOOKMARK ${next}`]);
  expect(answered).toEqual({});
  const expired = await expiring;
  await settle();
  expect(expired.events).toMatchObject([{ type: 'ERROR', object: { code: 504 } }]);
  store.release();
  await clock.advance(1_000);
  expect(answered).toEqual({ create: 201 });
  expect(shown(opened).at(-1)).toBe('ADDED later');
  expect(shown(await waiting).slice(-3)).toEqual(['ADDED durable', 'ADDED later', `BOOKMARK ${next + 1}`]);
  await plane.close();
});
