import { closeSync, openSync, writeSync } from 'node:fs';
import type { RequestLogEntry } from './handler.ts';

/** Lines are written when this many characters have come together, and at the latest at the end of a turn. */
const BUFFER_LENGTH = 64 * 1024;

/** Appends requests to a file, one JSON line each. @throws when the file cannot be opened */
export function requestLogFile(path: string): { write(entry: RequestLogEntry): void; close(): void } {
  const file = openSync(path, 'a', 0o600);
  let buffered = '';
  let scheduled = false;
  const flush = (): void => {
    scheduled = false;
    if (buffered === '') return;
    const text = buffered;
    buffered = '';
    writeSync(file, text);
  };
  return {
    write(entry) {
      buffered += `${JSON.stringify(entry)}\n`;
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
