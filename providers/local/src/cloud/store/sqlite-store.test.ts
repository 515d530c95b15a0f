import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSqliteStore } from './sqlite-store.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'local cloud '));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const file = () => join(dir, 'cloud.sqlite');

test('stored objects exist at the next start, and removed ones do not', () => {
  const first = openSqliteStore(dir);
  first.put('instance', 'i-1', { name: 'a' });
  first.put('instance', 'i-1', { name: 'b' });
  first.put('volume', 'i-1', { sizeGi: 1 });
  first.put('volume', 'vol-2', {});
  first.remove('volume', 'vol-2');
  first.close();
  const second = openSqliteStore(dir);
  expect([...second.load()]).toEqual([
    { kind: 'instance', id: 'i-1', body: { name: 'b' } },
    { kind: 'volume', id: 'i-1', body: { sizeGi: 1 } },
  ]);
  second.close();
});

test('only the owner can read the files of a store, also in a folder that others can read', () => {
  const before = process.umask(0o022);
  const modes = () => readdirSync(dir).map((name) => `${name} ${(statSync(join(dir, name)).mode & 0o777).toString(8)}`);
  try {
    chmodSync(dir, 0o755);
    const first = openSqliteStore(dir);
    first.put('instance', 'i-1', { userData: 'token' });
    expect(modes()).toEqual(['cloud.sqlite 600', 'cloud.sqlite-wal 600']);
    first.close();
    chmodSync(file(), 0o644);
    writeFileSync(`${file()}-wal`, '', { mode: 0o644 });
    const second = openSqliteStore(dir);
    second.put('instance', 'i-2', {});
    expect(modes()).toEqual(['cloud.sqlite 600', 'cloud.sqlite-wal 600']);
    second.close();
  } finally {
    process.umask(before);
  }
});

test('a killed process leaves a store that can be opened', () => {
  const first = openSqliteStore(dir);
  first.put('instance', 'i-1', {});
  // A copy of the files after a SIGKILL: the database, and the write-ahead log without a checkpoint.
  const copy = mkdtempSync(join(tmpdir(), 'killed '));
  for (const name of ['cloud.sqlite', 'cloud.sqlite-wal'])
    writeFileSync(join(copy, name), readFileSync(join(dir, name)));
  first.close();
  const second = openSqliteStore(copy);
  expect([...second.load()]).toHaveLength(1);
  second.close();
  rmSync(copy, { recursive: true });
});

test('changes of one transaction are stored completely or not at all', () => {
  const store = openSqliteStore(dir);
  const half = () => {
    store.put('instance', 'i-1', {});
    throw new Error('the second half failed');
  };
  expect(() => store.atomically(half)).toThrow('second half');
  expect([...store.load()]).toEqual([]);
  store.atomically(() => store.put('instance', 'i-2', {}));
  store.close();
  const again = openSqliteStore(dir);
  expect([...again.load()].map(({ id }) => id)).toEqual(['i-2']);
  again.close();
});

test.each<[string, () => void, RegExp]>([
  ['no database', () => writeFileSync(file(), 'hello '.repeat(100)), /is damaged or not a store of local-cloud/],
  [
    'the database of another program',
    () => {
      const other = new DatabaseSync(file());
      other.exec('CREATE TABLE t (x)');
      other.close();
    },
    /belongs to another program/,
  ],
  [
    'another layout',
    () => {
      openSqliteStore(dir).close();
      const newer = new DatabaseSync(file());
      newer.exec('PRAGMA user_version = 9');
      newer.close();
    },
    /has layout 9, but this program requires layout 1/,
  ],
  [
    'a damaged row',
    () => {
      openSqliteStore(dir).close();
      const raw = new DatabaseSync(file());
      raw.exec("INSERT INTO objects VALUES ('instance', 'i-1', '{')");
      raw.close();
    },
    /is damaged at instance i-1/,
  ],
])('%s is refused with one sentence and not changed', (_, prepare, message) => {
  prepare();
  const before = readFileSync(file());
  expect(() => {
    const store = openSqliteStore(dir);
    try {
      return [...store.load()];
    } finally {
      store.close();
    }
  }).toThrow(message);
  expect(readFileSync(file()).equals(before)).toBe(true);
});

test('damaged pages are refused', () => {
  const store = openSqliteStore(dir);
  for (let n = 0; n < 200; n++) store.put('instance', `i-${n}`, { text: 'x'.repeat(500) });
  store.close();
  const bytes = readFileSync(file());
  bytes.fill(0xff, 4096, 12_288);
  writeFileSync(file(), bytes);
  expect(() => openSqliteStore(dir)).toThrow(/is damaged: restore the file/);
});

test('a second process on the same folder is refused', () => {
  const first = openSqliteStore(dir);
  first.put('instance', 'i-1', {});
  expect(() => openSqliteStore(dir)).toThrow(/another local-cloud uses/);
  first.close();
});

test('an unusable folder is reported with its name', () => {
  writeFileSync(join(dir, 'file'), '');
  expect(() => openSqliteStore(join(dir, 'file', 'below'))).toThrow(/cannot use --data-dir .*below: /);
  chmodSync(dir, 0o700);
});
