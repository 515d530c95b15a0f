import { Worker } from 'node:worker_threads';

/** The program of the thread is a text, because the bundled control plane must be a single file. */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('node:sqlite');
const database = new DatabaseSync(workerData);
database.exec('PRAGMA busy_timeout = 10000; PRAGMA synchronous = NORMAL');
parentPort.on('message', (mode) => {
  try {
    parentPort.postMessage({ pages: database.prepare('PRAGMA wal_checkpoint(' + mode + ')').get().log });
  } catch (error) {
    parentPort.postMessage({ pages: 0, error: String(error) });
  }
});`;

/** The sizes at which a checkpoint starts. */
export interface CheckpointLimits {
  /** The number of bytes of JSON text that the store writes before the next checkpoint. */
  readonly bytes: number;
  /**
   * If more pages remain in the log after a checkpoint, another checkpoint empties the log while the store pauses its
   * writes.
   */
  readonly pages: number;
}

const DEFAULTS: CheckpointLimits = { bytes: 8 * 2 ** 20, pages: 65_536 };

export interface CheckpointedStore {
  /** Called when a checkpoint needs the database. The store starts no transaction until {@link resume}. */
  pause(): void;
  resume(): void;
  /** Called when the thread has failed. SQLite then writes checkpoints in the thread of the store. */
  onFailure(): void;
}

/**
 * Copies the transaction log of SQLite to the database, in a separate thread. A checkpoint waits for the disk, and the
 * thread of the store must handle requests during this time.
 */
export class Checkpoints {
  readonly #path: string;
  readonly #store: CheckpointedStore;
  readonly #limits: CheckpointLimits;
  #worker: Worker | undefined;
  #written = 0;
  #running: 'PASSIVE' | 'TRUNCATE' | undefined;
  #isOver = false;

  constructor(path: string, store: CheckpointedStore, limits: Partial<CheckpointLimits> = {}) {
    this.#path = path;
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
    this.#written = 0;
    this.#run('PASSIVE');
  }

  close(): void {
    this.#isOver = true;
    // If the thread ends during a checkpoint, the log keeps its content, and the next start reads it.
    void this.#worker?.terminate();
  }

  #run(mode: 'PASSIVE' | 'TRUNCATE'): void {
    this.#running = mode;
    this.#worker ??= this.#start();
    this.#worker.postMessage(mode);
  }

  #start(): Worker {
    const worker = new Worker(PROGRAM, { eval: true, workerData: this.#path, execArgv: [] });
    worker.unref();
    worker.on('message', ({ pages }: { readonly pages: number }) => this.#ended(pages));
    worker.on('error', () => {
      if (this.#isOver) return;
      this.#isOver = true;
      this.#store.onFailure();
      this.#ended(0);
    });
    return worker;
  }

  /**
   * During concurrent writes, a checkpoint never empties the log, so a busy store must pause its writes for a moment.
   */
  #ended(pages: number): void {
    const mode = this.#running;
    this.#running = undefined;
    if (mode === 'TRUNCATE') this.#store.resume();
    else if (pages > this.#limits.pages && !this.#isOver) {
      this.#store.pause();
      this.#run('TRUNCATE');
    }
  }
}
