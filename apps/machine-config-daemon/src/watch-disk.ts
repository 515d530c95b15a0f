import { type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '@mcm/kube';
import { pathInRoot } from './in-root.ts';

const QUIET_MS = 500;

/** Watches the directories to which a config writes files. */
export class DiskWatch {
  readonly #root: string;
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #timer: { cancel(): void } | undefined;

  constructor(root: string, clock: Clock, onChange: () => void) {
    this.#root = root;
    this.#clock = clock;
    this.#onChange = onChange;
  }

  async follow(paths: Iterable<string>): Promise<void> {
    const wanted = new Set<string>();
    for (const path of paths) wanted.add(dirname(await pathInRoot(this.#root, path)));
    for (const [directory, watcher] of this.#watchers) {
      if (wanted.has(directory)) continue;
      watcher.close();
      this.#watchers.delete(directory);
    }
    for (const directory of wanted) {
      if (!this.#watchers.has(directory)) this.#add(directory);
    }
  }

  #add(directory: string): void {
    try {
      const watcher = watch(directory, { persistent: false }, () => this.#changed());
      // The deletion of a watched directory counts as a change.
      watcher.on('error', () => this.#changed());
      this.#watchers.set(directory, watcher);
    } catch (error) {
      // If the directory does not exist, the previous check has already reported its missing files.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    }
  }

  #changed(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimeout(this.#onChange, QUIET_MS);
  }

  close(): void {
    this.#timer?.cancel();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }
}
