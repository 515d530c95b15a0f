import { closeSync, openSync, writeSync } from 'node:fs';
import { errorText } from '../base/error-text.ts';

/** Where bytes go; throws when they cannot, such as on a full disk or to a closed pipe. */
export type Sink = (bytes: Uint8Array) => void;

/** What a lossy writer is made of. */
export interface LossyOptions {
  readonly sink: Sink;
  /** The line in the log itself, once it takes lines again, about those that it did not take. */
  readonly notice: (dropped: number, reason: string) => string;
  /** Told of each write that failed, with all lines dropped so far. */
  readonly failed?: (dropped: number, reason: string) => void;
}

const LINE_END = 0x0a;

const linesOf = (bytes: Uint8Array): number => bytes.reduce((count, byte) => count + (byte === LINE_END ? 1 : 0), 0);

/** Writes a log that must never end its process: what cannot be written is dropped, counted and told. Never throws. */
export class LossyWriter {
  readonly #options: LossyOptions;
  #dropped = 0;
  #reason = '';

  constructor(options: LossyOptions) {
    this.#options = options;
  }

  write(chunk: string | Uint8Array): void {
    const { sink, notice, failed } = this.#options;
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    try {
      if (this.#dropped > 0) {
        // A line that was cut by the failure ends here.
        sink(Buffer.from(`\n${notice(this.#dropped, this.#reason)}\n`));
        this.#dropped = 0;
      }
      sink(bytes);
    } catch (error) {
      this.#dropped += Math.max(1, linesOf(bytes));
      this.#reason = errorText(error);
      failed?.(this.#dropped, this.#reason);
    }
  }
}

/** A pipe that is full is read again soon; in milliseconds. */
const FULL_PIPE_MS = 10;
/** After a second the reader has stopped. */
const MAX_WAITS = 100;

const isFull = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EAGAIN';

/** Writes all bytes to a descriptor at once. */
export function writeAll(descriptor: number, bytes: Uint8Array): void {
  let waits = 0;
  for (let from = 0; from < bytes.length; ) {
    try {
      from += writeSync(descriptor, bytes, from);
    } catch (error) {
      if (!isFull(error) || ++waits > MAX_WAITS) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_PIPE_MS);
    }
  }
}

/** A log file that is opened with its first line, and tried again with each line while it cannot be opened. */
export class FileSink {
  readonly #path: string;
  #flags: 'a' | 'w' = 'w';
  #descriptor: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  readonly write: Sink = (bytes) => {
    this.#descriptor ??= openSync(this.#path, this.#flags, 0o600);
    this.#flags = 'a';
    writeAll(this.#descriptor, bytes);
  };

  /** Lets go of the file; the next line opens it again and continues at its end. */
  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}
