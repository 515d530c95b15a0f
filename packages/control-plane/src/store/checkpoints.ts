import { Worker } from 'node:worker_threads';

/**
 * The program of the thread is a text, because the bundled control plane must be a single file.
 *
 * The first transaction after a restart of the log waits for the disk. The main thread writes this transaction,
 * so that the thread of the store does not wait.
 */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const database = new DatabaseSync(workerData.path);
database.exec('PRAGMA busy_timeout = 10000; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0');
parentPort.on('message', (mode) => {
  try {
    const { log } = database.prepare('PRAGMA wal_checkpoint(' + mode + ')').get();
    if (mode === 'RESTART') database.exec(workerData.touch);
    parentPort.postMessage({ pages: log });
  } catch (error) {
    parentPort.postMessage({ pages: 0, error: error.message });
  }
});`;

/** The sizes at which a checkpoint or a restart of the log starts. */
export interface CheckpointLimits {
  /** A checkpoint starts after the store has written this number of bytes of JSON text. */
  readonly bytes: number;
  /**
   * If the log has more pages than this after a checkpoint, the log must restart at its beginning. The store pauses its
   * writes during the restart. The file of the log keeps its size, because the release and the allocation of disk
   * blocks would delay writes.
   */
  readonly pages: number;
  /**
   * A log with more than `pages` pages restarts after a checkpoint during which the store wrote at most this number of
   * bytes.
   */
  readonly calm: number;
  /**
   * Replaces `calm` if the log has more than `URGENT` times `pages` pages. Checkpoints then repeat until the log
   * restarts.
   */
  readonly rest: number;
}

const DEFAULTS: CheckpointLimits = { bytes: 8 * 2 ** 20, pages: 65_536, calm: 2 ** 15, rest: 2 ** 19 };
/**
 * Above this multiple of `pages`, the limit `rest` replaces the limit `calm`, so that the log of a busy store can
 * restart. A pause needs about 0.1 s, so pauses must be rare.
 */
const URGENT = 3;
/**
 * Above this multiple of `pages`, the log restarts even if the store wrote much during the checkpoint. On a slow disk,
 * the rest of the log may never become small.
 */
const FORCED = 4;

/** The database of a store. The thread receives a copy of these values. */
export interface CheckpointTarget {
  readonly path: string;
  /** An SQL statement that writes an unchanged page to the log. */
  readonly touch: string;
}

export interface CheckpointedStore {
  /** Called when a checkpoint needs the database. The store starts no transaction until {@link resume}. */
  pause(): void;
  resume(): void;
  /** Called when the thread has failed. SQLite then writes checkpoints in the thread of the store. */
  onFailure(): void;
  /** Reports each failed checkpoint. The log keeps its content, so a failed checkpoint loses no write. */
  onError(reason: string): void;
}

/**
 * Copies the transaction log of SQLite to the database, in a separate thread. A checkpoint waits for the disk, and the
 * thread of the store must handle requests during this time.
 */
export class Checkpoints {
  readonly #target: CheckpointTarget;
  readonly #store: CheckpointedStore;
  readonly #limits: CheckpointLimits;
  #worker: Worker | undefined;
  #written = 0;
  #running: 'PASSIVE' | 'RESTART' | undefined;
  #isOver = false;

  constructor(target: CheckpointTarget, store: CheckpointedStore, limits: Partial<CheckpointLimits> = {}) {
    this.#target = target;
    this.#store = store;
    this.#limits = { ...DEFAULTS, ...limits };
  }

  /** Whether the thread has a connection to the database. */
  get hasStarted(): boolean {
    return this.#worker !== undefined;
  }

  /** Starts a checkpoint if the log is large enough. The first checkpoint starts the thread. */
  wrote(bytes: number): void {
    this.#written += bytes;
    if (this.#written < this.#limits.bytes || this.#running !== undefined || this.#isOver) return;
    this.#run('PASSIVE');
  }

  close(): void {
    this.#isOver = true;
    // If the thread ends during a checkpoint, the log keeps its content, and the next start reads it.
    void this.#worker?.terminate();
  }

  #run(mode: 'PASSIVE' | 'RESTART'): void {
    this.#running = mode;
    this.#written = 0;
    this.#worker ??= this.#start();
    this.#worker.postMessage(mode);
  }

  #start(): Worker {
    const worker = new Worker(PROGRAM, { eval: true, workerData: this.#target, execArgv: [] });
    worker.unref();
    worker.on('message', ({ pages, error }: { readonly pages: number; readonly error?: string }) => {
      if (error !== undefined) this.#store.onError(error);
      this.#ended(pages);
    });
    worker.on('error', (error: Error) => {
      if (this.#isOver) return;
      this.#isOver = true;
      this.#store.onError(error.message);
      this.#store.onFailure();
      this.#ended(0);
    });
    return worker;
  }

  /**
   * The log of a busy store never restarts without a pause of the writes. Repeated checkpoints before the pause make
   * the rest of the log small, so that the pause is short.
   */
  #ended(pages: number): void {
    const mode = this.#running;
    this.#running = undefined;
    if (mode === 'RESTART') this.#store.resume();
    else if (!this.#isOver && this.#mayRestart(pages)) {
      this.#store.pause();
      this.#run('RESTART');
    } else if (!this.#isOver && pages > URGENT * this.#limits.pages) this.#run('PASSIVE');
  }

  #mayRestart(pages: number): boolean {
    const { pages: limit, calm, rest } = this.#limits;
    if (pages > FORCED * limit) return true;
    return pages > limit && this.#written <= (pages > URGENT * limit ? rest : calm);
  }
}
