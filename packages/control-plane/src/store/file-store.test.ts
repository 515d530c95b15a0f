import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Clock } from '../apimachinery/objects/clock.ts';
import { FileStore, type FileStoreOptions } from './file-store.ts';
import type { StoreEvent } from './store.ts';

const clock: Clock = { now: () => new Date('2026-01-01T00:00:00Z'), setTimeout: () => ({ cancel: () => undefined }) };
const draft = (name: string, data = '') => ({
  namespace: 'n',
  name,
  labels: { app: name },
  render: (revision: number) => JSON.stringify({ apiVersion: 'v1', kind: 'X', revision, data }),
});

const POLL = { timeout: 60_000, interval: 1 };
let dir: string;
const open: FileStore[] = [];
const openStore = (options: FileStoreOptions = {}): FileStore => {
  const store = FileStore.open(join(dir, 'data'), clock, options);
  open.push(store);
  return store;
};

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'a store '));
});

afterEach(() => {
  for (const store of open.splice(0)) store.close();
  rmSync(dir, { recursive: true });
});

test('settled writes exist after a restart, and revisions continue', async () => {
  const store = openStore();
  store.put('/xs', draft('a'));
  store.put('/xs', draft('b'));
  store.delete('/xs', draft('a'));
  await store.settled();
  const revision = store.revision();
  store.close();
  const again = openStore();
  expect(again.revision()).toBe(revision);
  expect(again.list('/xs').records.map(({ name, labels }) => [name, labels])).toEqual([['b', { app: 'b' }]]);
  expect(again.put('/xs', draft('c')).revision).toBe(revision + 1);
  // After a restart of the store, a watch must list the objects again.
  expect(again.since('/xs', revision - 1)).toBeUndefined();
});

test('of several writes to one object in a transaction, the file contains the last one', async () => {
  const store = openStore();
  store.put('/xs', draft('kept'));
  store.put('/xs', draft('gone'));
  await store.settled();
  const seen: string[] = [];
  store.subscribe('/xs', ({ type, record }) => seen.push(`${type} ${record.namespace}/${record.name}`));
  store.put('/xs', draft('kept', 'first'));
  store.put('/xs', draft('kept', 'second'));
  store.put('/xs', { ...draft('kept', 'other namespace'), namespace: 'm' });
  store.put('/ys', { ...draft('kept', 'other resource'), namespace: 'm' });
  store.put('/xs', draft('gone', 'mark'));
  store.delete('/xs', draft('gone'));
  store.put('/xs', draft('new'));
  store.delete('/xs', draft('new'));
  store.put('/xs', draft('new', 'again'));
  await store.settled();
  expect(seen).toEqual([
    'MODIFIED n/kept',
    'MODIFIED n/kept',
    'ADDED m/kept',
    'MODIFIED n/gone',
    'DELETED n/gone',
    'ADDED n/new',
    'DELETED n/new',
    'ADDED n/new',
  ]);
  const revision = store.revision();
  store.close();
  const again = openStore();
  expect(again.revision()).toBe(revision);
  const stored = (resource: string): string[] =>
    again.list(resource).records.map(({ namespace, name, json }) => `${namespace}/${name} ${JSON.parse(json).data}`);
  expect(stored('/xs')).toEqual(['m/kept other namespace', 'n/kept second', 'n/new again']);
  expect(stored('/ys')).toEqual(['m/kept other resource']);
});

test('a start waits until a former process has released the folder', async () => {
  openStore().close();
  const holder = `
    const { DatabaseSync } = require('node:sqlite');
    const lock = new DatabaseSync(process.argv[1]);
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    process.stdout.write('locked');
    setTimeout(() => {}, 300);`;
  const child = spawn(process.execPath, ['--eval', holder, join(dir, 'data', 'lock.sqlite')]);
  await once(child.stdout, 'data');
  expect(openStore({ lockWaitMs: 60_000 }).revision()).toBeGreaterThan(0);
});

test('a copy of the file made while the store runs contains every settled write and no other', async () => {
  const store = openStore();
  store.put('/xs', draft('a'));
  await store.settled();
  store.put('/xs', draft('b'));
  const reader = new DatabaseSync(join(dir, 'data', 'store.sqlite'), { readOnly: true });
  const names = () =>
    reader
      .prepare('SELECT name FROM object ORDER BY name')
      .all()
      .map((row) => row.name);
  expect(names()).toEqual(['a']);
  await store.settled();
  expect(names()).toEqual(['a', 'b']);
  reader.close();
});

test('a thread copies the log to the file, and writes during this time are not lost', async () => {
  const store = openStore({ checkpoints: { bytes: 1, pages: 0 } });
  const path = join(dir, 'data', 'store.sqlite');
  const seen = vi.fn();
  store.subscribe('/xs', seen);
  let writes = 0;
  const write = async (): Promise<void> => {
    store.put('/xs', draft(`x-${writes++}`, 'a'.repeat(10_000)));
    await store.settled();
  };
  const fileSize = (): number => statSync(path).size;
  // The header of the log contains the number of its restarts.
  const restarts = (): number => readFileSync(`${path}-wal`).readUInt32BE(12);
  await write();
  const before = fileSize();
  const first = restarts();
  // The process of the test writes no checkpoint. The checkpoint thread lets the file grow and restarts the log.
  await expect
    .poll(async () => {
      await write();
      return [fileSize() > before, restarts() > first + 1];
    }, POLL)
    .toEqual([true, true]);
  await write();
  store.put('/xs', draft('last'));
  store.close();
  expect(seen).toHaveBeenCalledTimes(writes + 1);
  const names = openStore()
    .list('/xs')
    .records.map(({ name }) => name);
  expect(names).toHaveLength(writes + 1);
  expect(names).toContain('last');
});

test('listeners get a change only after it is settled, in order', async () => {
  const store = openStore();
  const seen: StoreEvent['revision'][] = [];
  store.subscribe('/xs', (event) => seen.push(event.revision));
  const revisions = ['a', 'b', 'c'].map((name) => store.put('/xs', draft(name)).revision);
  expect(seen).toEqual([]);
  expect(store.deliveredRevision()).toBeLessThan(revisions[0] ?? 0);
  await store.settled();
  expect(seen).toEqual(revisions);
  expect(store.deliveredRevision()).toBe(revisions.at(-1));
});

test('a compaction keeps changes that are not durable yet', async () => {
  const store = openStore();
  const { revision } = store.put('/xs', draft('a'));
  store.compact();
  expect(store.compactedRevision('/xs')).toBeLessThan(revision);
  await store.settled();
  store.compact();
  expect(store.compactedRevision('/xs')).toBe(revision);
});

test.each([
  ['another one runs on it', () => void openStore(), /in use by another running control plane/],
  ['it is no database', () => write('store.sqlite', 'not a database, by far'), /damaged or not a store/],
  ['it belongs to something else', () => foreign('CREATE TABLE t (a)'), /not a store of a control plane/],
  [
    'it is newer',
    () => foreign(`PRAGMA application_id = ${0x6d636d50}; PRAGMA user_version = 99`),
    /has layout 99, .* newer version/,
  ],
  [
    'it is older than any',
    () => foreign(`PRAGMA application_id = ${0x6d636d50}`),
    /the unsupported layout 0; the store stays unchanged/,
  ],
  ['the folder is not empty', () => write('holiday.txt', 'sun'), /not empty and contains no data of a control plane/],
])('refused: %s', (_why, prepare, message) => {
  prepare();
  expect(() => openStore({ lockWaitMs: 0 })).toThrow(message);
});

function write(name: string, content: string): void {
  mkdirSync(join(dir, 'data'));
  writeFileSync(join(dir, 'data', name), content);
}

function foreign(sql: string): void {
  const path = join(dir, 'data');
  mkdirSync(path);
  const database = new DatabaseSync(join(path, 'store.sqlite'));
  database.exec(`CREATE TABLE other (a); ${sql}`);
  database.close();
}

test.each([
  ['a new folder', () => undefined],
  ['a folder that all may read', () => mkdirSync(join(dir, 'data'), { mode: 0o755 })],
])('only the owner may read the files of %s', (_, make) => {
  const before = process.umask(0o022);
  try {
    make();
    const store = openStore();
    store.put('/xs', draft('a'));
    store.close();
    const data = join(dir, 'data');
    for (const name of ['store.sqlite', 'lock.sqlite']) chmodSync(join(data, name), 0o644);
    for (const name of ['ca.key', 'admin.token', 'store.sqlite-wal', 'notes.txt'])
      writeFileSync(join(data, name), '', { mode: 0o644 });
    chmodSync(data, 0o755);
    const again = openStore();
    again.put('/xs', draft('b'));
    const modes = Object.fromEntries(
      readdirSync(data).map((name) => [name, (statSync(join(data, name)).mode & 0o777).toString(8)]),
    );
    expect(modes).toEqual({
      'admin.token': '600',
      'ca.key': '600',
      'lock.sqlite': '600',
      'lock.sqlite-journal': '600',
      'store.sqlite': '600',
      'store.sqlite-shm': '600',
      'store.sqlite-wal': '600',
      // The control plane did not create `notes.txt`, so its mode stays.
      'notes.txt': '644',
    });
    expect((statSync(data).mode & 0o777).toString(8)).toBe('700');
  } finally {
    process.umask(before);
  }
});
