import { closeSync, openSync, writeSync } from 'node:fs';
import type { RequestLogEntry } from './handler.ts';

/** The log writes at the end of a turn of the event loop at the latest. */
const BUFFER_LENGTH = 64 * 1024;

/**
 * Appends each request to a file, as one line of JSON.
 * @throws Error if the file cannot be opened
 */
export function requestLogFile(path: string): { write(entry: RequestLogEntry): void; close(): void } {
  const file = openSync(path, 'a', 0o600);
  let buffered = '';
  let scheduled = false;
  let dropped = 0;
  let pending = 0;
  const flush = (): void => {
    scheduled = false;
    if (buffered === '') return;
    const text = buffered;
    buffered = '';
    const lines = pending;
    pending = 0;
    // The log ignores a failed write, because a full disk must not end the server.
    try {
      if (dropped > 0) writeSync(file, `\n${JSON.stringify({ dropped })}\n`);
      dropped = 0;
      writeSync(file, text);
    } catch {
      dropped += lines;
    }
  };
  return {
    write(entry) {
      buffered += `${JSON.stringify(entry)}\n`;
      pending += 1;
      if (buffered.length >= BUFFER_LENGTH) flush();
      else if (!scheduled) {
        scheduled = true;
        setImmediate(flush);
      }
    },
    close() {
      flush();
      closeSync(file);
    },
  };
}
