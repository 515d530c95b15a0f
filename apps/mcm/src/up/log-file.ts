import { appendFileSync, closeSync, openSync, readSync, renameSync, statSync } from 'node:fs';

/** The maximum size of a log file at the start of its program. A larger file is renamed. */
const MOST_BYTES = 10 * 2 ** 20;

/**
 * Prepares the log file of a program. A log over 10 MiB is renamed to `PATH.1`, which replaces the earlier `PATH.1`. If
 * a killed process has left an incomplete line, the function ends this line.
 */
export function continueLog(path: string, mostBytes = MOST_BYTES): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return;
  if (size > mostBytes) renameSync(path, `${path}.1`);
  else if (!endsLine(path, size)) appendFileSync(path, '\n');
}

function endsLine(path: string, size: number): boolean {
  const file = openSync(path, 'r');
  try {
    const last = Buffer.alloc(1);
    readSync(file, last, 0, 1, size - 1);
    return last.toString() === '\n';
  } finally {
    closeSync(file);
  }
}
