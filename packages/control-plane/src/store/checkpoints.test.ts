import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Checkpoints } from './checkpoints.ts';

const POLL = { timeout: 60_000, interval: 1 };
let dir: string;
let running: Checkpoints | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'checkpoints-'));
});

afterEach(() => {
  running?.close();
  rmSync(dir, { recursive: true });
});

function start(path: string) {
  const store = { pause: vi.fn(), resume: vi.fn(), onFailure: vi.fn(), onError: vi.fn() };
  running = new Checkpoints({ path, touch: 'PRAGMA user_version = 1' }, store, { bytes: 1, pages: 0 });
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

test('without a thread for checkpoints, the store gets the reason and writes its own checkpoints', async () => {
  const { store, checkpoints } = start(join(dir, 'missing', 'store.sqlite'));
  checkpoints.wrote(1);
  await expect.poll(() => store.onFailure.mock.calls.length, POLL).toBe(1);
  expect(store.onError).toHaveBeenCalledExactlyOnceWith('unable to open database file');
  checkpoints.wrote(1);
  expect(store.onFailure).toHaveBeenCalledOnce();
});
