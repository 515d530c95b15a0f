import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Clock } from '../apimachinery/objects/clock.ts';
import { type CheckpointLimits, Checkpoints } from './checkpoints.ts';
import type { HistoryLimits } from './history.ts';
import { MemoryStore } from './memory-store.ts';
import { StorageFullError, type StoreEvent } from './store.ts';

const FILE = 'store.sqlite';
const LOCK = 'lock.sqlite';
/** The `PRAGMA application_id` of a store file ("mcmP"). A database file without this ID belongs to another program. */
const APPLICATION_ID = 0x6d636d50;
/** The version of the tables in the store file. The program refuses a store file with a newer version. */
const LAYOUT = 1;

/** The error of a data folder that the program cannot use. The message is one sentence for the user. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

export interface FileStoreOptions {
  readonly limits?: Partial<HistoryLimits>;
  readonly onFailure?: ((error: StoreError) => void) | undefined;
  readonly onCheckpointError?: ((error: StoreError) => void) | undefined;
  /** The maximum size of the store file in bytes (default: unlimited). */
  readonly maxBytes?: number | undefined;
  /** The time in milliseconds for which the start waits for the lock of the folder (default: 2 s). */
  readonly lockWaitMs?: number | undefined;
  readonly checkpoints?: Partial<CheckpointLimits>;
}

interface Pending {
  readonly event: StoreEvent;
  readonly deliver: () => void;
}

/** The code of the SQLite error for a full disk or a file of the maximum size (`SQLITE_FULL`). */
const FULL = 13;
const isFull = (error: unknown): boolean => error instanceof Error && 'errcode' in error && error.errcode === FULL;

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * The time for which a start waits for the lock. If the parent program is killed, its control plane ends a moment
 * later.
 */
const LOCK_WAIT_MS = 2_000;

/**
 * The maximum time for which a transaction waits for a checkpoint, in milliseconds, for example when the store closes.
 */
const BUSY_MS = 10_000;

/** Opens a database. A transaction waits at most `waitMs` for a lock. */
function openDatabase(path: string, waitMs: number): DatabaseSync {
  const database = new DatabaseSync(path);
  try {
    database.exec(`PRAGMA busy_timeout = ${waitMs}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Takes the lock of the data folder. The operating system releases the lock when the process ends. */
function takeLock(dir: string, waitMs: number): DatabaseSync {
  let lock: DatabaseSync | undefined;
  try {
    makeFile(join(dir, LOCK));
    lock = openDatabase(join(dir, LOCK), waitMs);
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock?.close();
    if (/locked|busy/i.test(reasonOf(error))) {
      throw new StoreError(`the data folder ${dir} is in use by another running control plane`);
    }
    throw new StoreError(`cannot lock the data folder ${dir}: ${reasonOf(error)}`);
  }
}

/**
 * Creates a folder and its parents. In file systems such as `/proc`, the option `recursive` of Node.js never returns.
 */
function makeFolder(dir: string): void {
  if (existsSync(dir)) return;
  const parent = dirname(dir);
  if (parent !== dir) makeFolder(parent);
  mkdirSync(dir, { mode: 0o700 });
}

function prepareFolder(dir: string): void {
  try {
    makeFolder(resolve(dir));
    if (!statSync(dir).isDirectory()) throw new Error('it is not a folder');
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new StoreError(`cannot use the data folder ${dir}: ${reasonOf(error)}`);
  }
  const content = readdirSync(dir);
  if (content.length > 0 && !content.includes(FILE) && !content.includes(LOCK)) {
    throw new StoreError(`the folder ${dir} is not empty and contains no data of a control plane; use another folder`);
  }
  keepPrivate(dir, 0o700);
}

/** The files of a data folder: the store with its log and its index, the lock, keys, certificates and tokens. */
const OWN_FILES = /^(?:(?:store|lock)\.sqlite(?:-(?:wal|shm|journal))?|.*\.(?:key|crt|token))$/;
/** The mode bits of a file for all users except the owner. */
const OTHERS = 0o077;

/** @throws StoreError if the mode of the file cannot be changed */
function keepPrivate(path: string, mode: number): void {
  if ((statSync(path).mode & OTHERS) === 0) return;
  try {
    chmodSync(path, mode);
  } catch (error) {
    throw new StoreError(
      `other users can read ${path}, and the program cannot set its mode to ${mode.toString(8)} (${reasonOf(error)}): change its owner or mode`,
    );
  }
}

/** Creates the database file. SQLite gives the mode of this file to the other files of the database. */
const makeFile = (path: string): void => closeSync(openSync(path, 'a', 0o600));

/**
 * Removes the access of other users, which a copy of the folder may have added.
 * @throws StoreError if a mode cannot be changed
 */
function makePrivate(dir: string): void {
  for (const name of readdirSync(dir)) if (OWN_FILES.test(name)) keepPrivate(join(dir, name), 0o600);
}

function readNumber(database: DatabaseSync, pragma: string): number {
  const row = database.prepare(`PRAGMA ${pragma}`).get();
  return Number(Object.values(row ?? {})[0] ?? 0);
}

/** @throws StoreError if the file belongs to another program */
function openStore(path: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    makeFile(path);
    // The checkpoint thread of the previous store may still be connected.
    database = openDatabase(path, BUSY_MS);
    const application = readNumber(database, 'application_id');
    const tables = Number(database.prepare('SELECT count(*) AS n FROM sqlite_master').get()?.n ?? 0);
    if (application !== APPLICATION_ID && (application !== 0 || tables > 0)) {
      throw new StoreError(`the file ${path} is not a store of a control plane; the file stays unchanged`);
    }
    if (application === APPLICATION_ID) {
      const layout = readNumber(database, 'user_version');
      if (layout > LAYOUT) {
        throw new StoreError(
          `the store ${path} has layout ${layout}, but this program supports only layout ${LAYOUT}; use a newer version of the program`,
        );
      }
      if (layout < LAYOUT) {
        throw new StoreError(`the store ${path} has the unsupported layout ${layout}; the store stays unchanged`);
      }
      const check = Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})[0];
      if (check !== 'ok') throw new StoreError(`the store ${path} is damaged: ${check}`);
    }
    // With the modes WAL and NORMAL, committed writes survive a kill of the process. A separate thread copies the log
    // to the database.
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0');
    if (application !== APPLICATION_ID) {
      database.exec(`BEGIN;
        CREATE TABLE object (
          resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL,
          json TEXT NOT NULL, labels TEXT, fields TEXT, PRIMARY KEY (resource, namespace, name)
        ) WITHOUT ROWID;
        CREATE TABLE counter (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL);
        INSERT INTO counter VALUES (1, 1);
        PRAGMA application_id = ${APPLICATION_ID};
        PRAGMA user_version = ${LAYOUT};
        COMMIT`);
    }
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof StoreError) throw error;
    if (/not a database|malformed|corrupt/i.test(reasonOf(error))) {
      throw new StoreError(`the store ${path} is damaged or not a store: ${reasonOf(error)}`);
    }
    throw new StoreError(`cannot open the store ${path}: ${reasonOf(error)}`);
  }
}

const parseMap = (text: unknown): Record<string, string> | undefined =>
  typeof text === 'string' ? (JSON.parse(text) as Record<string, string>) : undefined;

/** Whether the next write of the transaction changes the same object. The deletion of a pod consists of two writes. */
const isReplaced = ({ resource, record }: StoreEvent, next: StoreEvent | undefined): boolean =>
  next !== undefined &&
  next.record.name === record.name &&
  next.record.namespace === record.namespace &&
  next.resource === resource;

/**
 * A store in memory that also saves all writes in a file. All writes of one turn of the event loop are one transaction.
 * Responses and watch events wait for the transaction, so a client never sees a write that a crash can undo.
 */
export class FileStore extends MemoryStore {
  readonly #database: DatabaseSync;
  readonly #lock: DatabaseSync;
  readonly #put: StatementSync;
  readonly #delete: StatementSync;
  readonly #count: StatementSync;
  readonly #onFailure: (error: StoreError) => void;
  readonly #checkpoints: Checkpoints;
  /** Whether the store starts no transactions, because a checkpoint needs the database. */
  #paused = false;
  #pending: Pending[] = [];
  #settled: PromiseWithResolvers<void> | undefined;
  #delivered: number;
  #failure: StoreError | undefined;
  #closed = false;

  private constructor(
    parts: { database: DatabaseSync; lock: DatabaseSync; path: string; options: FileStoreOptions },
    clock: Clock,
    revision: number,
  ) {
    super(clock, parts.options.limits ?? {}, revision);
    this.#database = parts.database;
    this.#lock = parts.lock;
    this.#onFailure = parts.options.onFailure ?? (() => undefined);
    this.#checkpoints = new Checkpoints(
      { path: parts.path, touch: `PRAGMA user_version = ${LAYOUT}` },
      {
        pause: () => {
          this.#paused = true;
        },
        resume: () => {
          this.#paused = false;
          this.#commit();
        },
        onFailure: () => {
          if (!this.#closed) this.#database.exec('PRAGMA wal_autocheckpoint = 1000');
        },
        onError: (reason) =>
          parts.options.onCheckpointError?.(
            new StoreError(`a checkpoint of the store ${parts.path} failed: ${reason}`),
          ),
      },
      parts.options.checkpoints,
    );
    this.#delivered = revision;
    this.#put = parts.database.prepare(
      'INSERT OR REPLACE INTO object (resource, namespace, name, revision, json, labels, fields) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#delete = parts.database.prepare('DELETE FROM object WHERE resource = ? AND namespace = ? AND name = ?');
    this.#count = parts.database.prepare('UPDATE counter SET revision = ? WHERE id = 1');
  }

  /**
   * Opens the store of a data folder. If the disk is full, the store refuses writes until space is free.
   * @param options The store calls `onFailure` once if writes to the file fail permanently, and then acknowledges no
   * write. The store calls `onCheckpointError` for each failed checkpoint.
   * @throws StoreError if another process has the lock, or if the file is damaged, newer, or from another program
   */
  static open(dir: string, clock: Clock, options: FileStoreOptions = {}): FileStore {
    prepareFolder(dir);
    const lock = takeLock(dir, options.lockWaitMs ?? LOCK_WAIT_MS);
    try {
      makePrivate(dir);
      const path = join(dir, FILE);
      const database = openStore(path);
      if (options.maxBytes !== undefined) {
        const pages = Math.floor(options.maxBytes / readNumber(database, 'page_size'));
        database.exec(`PRAGMA max_page_count = ${pages}`);
      }
      const revision = Number(database.prepare('SELECT revision FROM counter').get()?.revision ?? 1);
      const store = new FileStore({ database, lock, path, options }, clock, revision);
      store.#load();
      return store;
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  #load(): void {
    for (const row of this.#database.prepare('SELECT * FROM object').iterate()) {
      this.restore(String(row.resource), {
        namespace: String(row.namespace),
        name: String(row.name),
        revision: Number(row.revision),
        json: String(row.json),
        labels: parseMap(row.labels),
        fields: parseMap(row.fields),
      });
    }
  }

  override deliveredRevision(): number {
    return this.#delivered;
  }

  override settled(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return this.#settled?.promise ?? Promise.resolve();
  }

  override close(): void {
    if (this.#closed) return;
    this.#paused = false;
    this.#commit();
    this.#closed = true;
    super.close();
    // The checkpoint thread is still connected, so SQLite writes no checkpoint when this connection closes.
    if (this.#checkpoints.hasStarted) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    this.#checkpoints.close();
    this.#database.close();
    this.#lock.close();
  }

  protected override journal(event: StoreEvent, deliver: () => void): void {
    this.#pending.push({ event, deliver });
    if (this.#settled !== undefined) return;
    this.#settled = Promise.withResolvers();
    // The promise may have no other handler, so this handler prevents an unhandled rejection.
    this.#settled.promise.catch(() => undefined);
    setImmediate(() => this.#commit());
  }

  #commit(): void {
    const settled = this.#settled;
    const pending = this.#pending;
    if (settled === undefined || this.#closed || this.#paused) return;
    this.#settled = undefined;
    this.#pending = [];
    try {
      this.#write(pending);
    } catch (error) {
      if (isFull(error)) {
        for (const { event } of pending.toReversed()) this.takeBack(event);
        settled.reject(new StorageFullError(reasonOf(error)));
        return;
      }
      this.#failure = new StoreError(`cannot write the store: ${reasonOf(error)}`);
      settled.reject(this.#failure);
      this.#onFailure(this.#failure);
      return;
    }
    for (const { event, deliver } of pending) {
      this.#delivered = event.revision;
      deliver();
    }
    settled.resolve();
  }

  #write(pending: readonly Pending[]): void {
    if (this.#failure !== undefined) throw this.#failure;
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      for (const [index, { event }] of pending.entries()) {
        if (isReplaced(event, pending[index + 1]?.event)) continue;
        const { namespace, name, revision, json, labels, fields } = event.record;
        if (event.type === 'DELETED') this.#delete.run(event.resource, namespace, name);
        else {
          const kept = [labels, fields].map((map) => (map === undefined ? null : JSON.stringify(map)));
          this.#put.run(event.resource, namespace, name, revision, json, kept[0] ?? null, kept[1] ?? null);
        }
      }
      this.#count.run(pending.at(-1)?.event.revision ?? this.revision());
      this.#database.exec('COMMIT');
      this.#checkpoints.wrote(pending.reduce((bytes, { event }) => bytes + event.record.json.length, 0));
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }
}
