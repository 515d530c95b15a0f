import { closeSync, openSync, writeSync } from 'node:fs';
import { errorText } from '../base/error-text.ts';

/**
 * Writes bytes to the destination of the log.
 * @throws Error if the write fails, such as on a full disk or a closed pipe
 */
export type Sink = (bytes: Uint8Array) => void;

/** Options of a lossy writer. */
export interface LossyOptions {
  readonly sink: Sink;
  readonly notice: (dropped: number, reason: string) => string;
  readonly failed?: (dropped: number, reason: string) => void;
}

const LINE_END = 0x0a;

const linesOf = (bytes: Uint8Array): number => bytes.reduce((count, byte) => count + (byte === LINE_END ? 1 : 0), 0);

/**
 * Writes log lines without ever throwing, because a failed write must not end the process. The writer drops and counts
 * lines that cannot be written, and reports their number later.
 */
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
        // The line break ends a line that was only partly written.
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

/** Milliseconds until the next attempt to write to a full pipe. */
const FULL_PIPE_MS = 10;
const MAX_WAITS = 100;

const isFull = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EAGAIN';

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

/** A log file. The first log line opens the file. If the file cannot be opened, each later line tries again. */
export class FileSink {
  readonly #path: string;
  #flags: 'a' | 'w' = 'w';
  #descriptor: number | undefined;

  constructor(path: string, { append = false }: { readonly append?: boolean } = {}) {
    this.#path = path;
    if (append) this.#flags = 'a';
  }

  readonly write: Sink = (bytes) => {
    this.#descriptor ??= openSync(this.#path, this.#flags, 0o600);
    this.#flags = 'a';
    writeAll(this.#descriptor, bytes);
  };

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}
