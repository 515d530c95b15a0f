import { type FSWatcher, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { UserError } from '../command/errors.ts';
import { byTime, type LogEntry, parseEntry } from './entry.ts';
import { FileTail } from './tail.ts';

const SUFFIX = '.log';

export class LogFolder {
  readonly #path: string;
  readonly #tails = new Map<string, FileTail>();
  /** For each program, the time of its last structured line. */
  readonly #times = new Map<string, string>();

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Returns the names of the programs that have a log.
   * @throws UserError if the folder cannot be read
   */
  async programs(): Promise<string[]> {
    try {
      const names = await readdir(this.#path);
      return names.filter((name) => name.endsWith(SUFFIX)).map((name) => basename(name, SUFFIX));
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : error;
      const why = code === 'ENOENT' || code === 'ENOTDIR' ? 'does not exist' : `cannot be read (${code})`;
      throw new UserError(`no logs: ${this.#path} ${why}; "mcm up" writes the logs; --data-dir selects its directory`);
    }
  }

  async read(): Promise<LogEntry[]> {
    const entries: LogEntry[] = [];
    for (const program of (await this.programs()).sort()) {
      const tail = this.#tails.get(program) ?? new FileTail(join(this.#path, `${program}${SUFFIX}`));
      this.#tails.set(program, tail);
      entries.push(...(await tail.read()).map((line) => this.#entry(program, line)));
    }
    return byTime(entries.filter(({ message }) => message !== ''));
  }

  /** Returns incomplete lines at the end of the logs. */
  unfinished(): LogEntry[] {
    return [...this.#tails].flatMap(([program, tail]) => tail.unfinished.map((line) => this.#entry(program, line)));
  }

  #entry(program: string, line: string): LogEntry {
    const entry = parseEntry(program, line, this.#times.get(program));
    this.#times.set(program, entry.at);
    return entry;
  }

  /** Yields the lines that were not read yet, and then new lines until the signal is aborted. */
  async *follow(signal: AbortSignal): AsyncGenerator<LogEntry[]> {
    await this.programs();
    let changed = Promise.withResolvers<void>();
    const wake = (): void => changed.resolve();
    const watcher: FSWatcher = watch(this.#path, wake);
    const failed = new Promise<never>((_, reject) => {
      watcher.on('error', reject);
    });
    failed.catch(() => undefined);
    signal.addEventListener('abort', wake, { once: true });
    try {
      while (!signal.aborted) {
        const next = changed.promise;
        const entries = await this.read();
        if (entries.length > 0) yield entries;
        else {
          await Promise.race([next, failed]);
          changed = Promise.withResolvers<void>();
        }
      }
    } finally {
      signal.removeEventListener('abort', wake);
      watcher.close();
    }
  }

  async close(): Promise<void> {
    for (const tail of this.#tails.values()) await tail.close();
  }
}
