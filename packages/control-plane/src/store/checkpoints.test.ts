import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type CheckpointLimits, Checkpoints } from './checkpoints.ts';

const POLL = { timeout: 60_000, interval: 1 };
let dir: string;
let running: Checkpoints | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'checkpoints-'));
});

afterEach(() => {
  running?.close();
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true });
});

function start(path: string, limits: Partial<CheckpointLimits> = { bytes: 1, pages: 0 }) {
  const store = { pause: vi.fn(), resume: vi.fn(), onFailure: vi.fn(), onError: vi.fn() };
  running = new Checkpoints({ path, touch: 'PRAGMA user_version = 1' }, store, limits);
  return { store, checkpoints: running };
}

test('each failed checkpoint is reported, and the next checkpoint runs', async () => {
  const path = join(dir, 'store.sqlite');
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE numbers (n)');
  const { store, checkpoints } = start(path);
  checkpoints.wrote(1);
  await expect.poll(() => store.resume.mock.calls.length, POLL).toBe(1);
  expect(store.onError).not.toHaveBeenCalled();
  database.exec('INSERT INTO numbers VALUES (1)');
  // The thread cannot read the log any more.
  truncateSync(`${path}-wal`);
  for (const times of [1, 2]) {
    checkpoints.wrote(1);
    await expect.poll(() => store.onError.mock.calls.length, POLL).toBe(times);
  }
  expect(store.onError).toHaveBeenLastCalledWith('disk I/O error');
  expect(store.onFailure).not.toHaveBeenCalled();
  database.close();
});

test.each([
  ['happens early if the store writes nothing', 3, 0, ['PASSIVE', 'RESTART']],
  ['waits until the store writes little', 7, 11, ['PASSIVE', 'PASSIVE', 'RESTART']],
  ['does not wait if the log is very large', 20, 11, ['PASSIVE', 'RESTART']],
])('the restart of the log %s', async (_, tables, written, modes) => {
  const sent = vi.spyOn(Worker.prototype, 'postMessage');
  const path = join(dir, 'store.sqlite');
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0');
  for (let table = 0; table < tables; table++) database.exec(`CREATE TABLE numbers${table} (n)`);
  // The header of the log contains the number of its restarts. The first write after a restart writes the header.
  const restarts = (): number => readFileSync(`${path}-wal`).readUInt32BE(12);
  const before = restarts();
  const { store, checkpoints } = start(path, { bytes: 1, pages: 4, calm: 5, rest: 10 });
  checkpoints.wrote(1);
  checkpoints.wrote(written);
  await expect.poll(() => store.resume.mock.calls.length, POLL).toBe(1);
  expect(sent.mock.calls.map(([mode]) => mode)).toEqual(modes);
  expect(store.pause).toHaveBeenCalledOnce();
  expect(restarts()).toBe(before + 1);
  database.close();
});

test('the log of a busy store grows to a multiple of its limit, so pauses are rare', async () => {
  const sent = vi.spyOn(Worker.prototype, 'postMessage');
  const path = join(dir, 'store.sqlite');
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE a (n); CREATE TABLE b (n)');
  database.exec('CREATE TABLE c (n)');
  const { checkpoints } = start(path, { bytes: 1, pages: 4, calm: 5, rest: 10 });
  checkpoints.wrote(1);
  checkpoints.wrote(7);
  const modes = (): unknown[] => {
    checkpoints.wrote(0);
    return sent.mock.calls.slice(0, 2).flat();
  };
  await expect.poll(modes, POLL).toEqual(['PASSIVE', 'PASSIVE']);
  database.close();
});

test('without a thread for checkpoints, the store gets the reason and writes its own checkpoints', async () => {
  const { store, checkpoints } = start(join(dir, 'missing', 'store.sqlite'));
  checkpoints.wrote(1);
  await expect.poll(() => store.onFailure.mock.calls.length, POLL).toBe(1);
  expect(store.onError).toHaveBeenCalledExactlyOnceWith('unable to open database file');
  checkpoints.wrote(1);
  expect(store.onFailure).toHaveBeenCalledOnce();
});
