import { chmodSync, closeSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { makeFolder } from '@mcm/kube';
import { type CloudStore, type StoredRow, StoreError } from './store.ts';

/**
 * The application ID of the store, the text "MCLC" at byte 68 of the file. This text distinguishes the store from other
 * SQLite files.
 */
const APPLICATION_ID = 0x4d434c43;
/** The version of the table layout. A store with another version is refused. */
const LAYOUT = 1;
const FILE = 'cloud.sqlite';
/** The first bytes of an SQLite file, see https://www.sqlite.org/fileformat.html §1.3 */
const MAGIC = 'SQLite format 3\0';

/**
 * Opens or creates the store in a folder. A file of another program, a damaged file, and a file in use stay unchanged.
 * @throws {StoreError} with the problem and the fix in one sentence
 */
export function openSqliteStore(dir: string): CloudStore {
  const file = join(dir, FILE);
  try {
    makeFolder(dir, 0o700);
  } catch (error) {
    throw new StoreError(`cannot use --data-dir ${dir}: ${messageOf(error)}; use another directory`);
  }
  const fresh = inspectFile(file) === 'fresh';
  keepPrivate(file);
  return new SqliteStore(openDatabase(file, fresh), file);
}

/** The mode bits of the group and of other users. */
const OTHERS = 0o077;

/**
 * Removes the access of other users to the files of the store, because user data contains tokens. After a kill, the
 * write-ahead log may exist, too.
 */
function keepPrivate(file: string): void {
  try {
    closeSync(openSync(file, 'a', 0o600));
    for (const path of [file, `${file}-wal`, `${file}-shm`]) {
      const found = statSync(path, { throwIfNoEntry: false });
      if (found !== undefined && (found.mode & OTHERS) !== 0) chmodSync(path, 0o600);
    }
  } catch (error) {
    throw new StoreError(`${file} cannot be opened: ${messageOf(error)}`);
  }
}

/**
 * Checks the header of a file. The function does not open the file with SQLite, because SQLite could change a file of
 * another program.
 */
function inspectFile(file: string): 'fresh' | 'ours' {
  const header = readHeader(file);
  if (header === undefined || header.length === 0) return 'fresh';
  if (header.length < 100 || header.toString('latin1', 0, 16) !== MAGIC)
    throw new StoreError(
      `${file} is damaged or not a store of local-cloud: restore the file or use another --data-dir`,
    );
  if (header.readUInt32BE(68) !== APPLICATION_ID)
    throw new StoreError(`${file} belongs to another program: use another --data-dir`);
  const layout = header.readUInt32BE(60);
  if (layout !== LAYOUT)
    throw new StoreError(
      `${file} has layout ${layout}, but this program requires layout ${LAYOUT}: use another --data-dir`,
    );
  return 'ours';
}

function readHeader(file: string): Buffer | undefined {
  let handle: number;
  try {
    handle = openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StoreError(`${file} cannot be read: ${messageOf(error)}`);
  }
  try {
    const header = Buffer.alloc(100);
    return header.subarray(0, readSync(handle, header, 0, 100, 0));
  } finally {
    closeSync(handle);
  }
}

function openDatabase(file: string, fresh: boolean): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file);
    // With the exclusive lock, SQLite refuses a second process. A second process would run the instances a second time.
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    // The next start reads the header of the file without the WAL. Therefore, the application ID and the layout version
    // are written before the WAL mode starts.
    if (fresh) database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${LAYOUT}`);
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
    const check = database.prepare('PRAGMA quick_check(1)').get();
    if (check?.quick_check !== 'ok') throw new Error('database disk image is malformed');
    database.exec(
      'CREATE TABLE IF NOT EXISTS objects (kind TEXT, id TEXT, body TEXT NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID',
    );
    return database;
  } catch (error) {
    database?.close();
    throw new StoreError(explainOpen(file, messageOf(error)));
  }
}

function explainOpen(file: string, reason: string): string {
  if (/locked|busy/i.test(reason))
    return `another local-cloud uses ${file}: stop that local-cloud or use another --data-dir`;
  if (/malformed|not a database/i.test(reason)) return `${file} is damaged: restore the file or use another --data-dir`;
  return `${file} cannot be opened: ${reason}`;
}

class SqliteStore implements CloudStore {
  readonly #database: DatabaseSync;
  readonly #file: string;
  readonly #put: StatementSync;
  readonly #remove: StatementSync;

  constructor(database: DatabaseSync, file: string) {
    this.#database = database;
    this.#file = file;
    this.#put = database.prepare(
      'INSERT INTO objects (kind, id, body) VALUES (?, ?, ?) ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body',
    );
    this.#remove = database.prepare('DELETE FROM objects WHERE kind = ? AND id = ?');
  }

  *load(): Iterable<StoredRow> {
    for (const row of this.#database.prepare('SELECT kind, id, body FROM objects').all()) {
      const [kind, id] = [String(row.kind), String(row.id)];
      try {
        yield { kind, id, body: JSON.parse(String(row.body)) };
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        throw new StoreError(`${this.#file} is damaged at ${kind} ${id}: restore the file or use another --data-dir`);
      }
    }
  }

  put(kind: string, id: string, body: object): void {
    this.#put.run(kind, id, JSON.stringify(body));
  }

  remove(kind: string, id: string): void {
    this.#remove.run(kind, id);
  }

  atomically(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.#database.close();
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
