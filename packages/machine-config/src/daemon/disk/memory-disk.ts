import { posix } from 'node:path';
import type { Entry, NodeDisk } from './disk.ts';

type StoredEntry =
  | Exclude<Entry, { kind: 'file' }>
  | (Omit<Extract<Entry, { kind: 'file' }>, 'content'> & { content: string });

/** The content of a simulated disk, as JSON. */
export type DiskImage = Readonly<Record<string, StoredEntry>>;

/** The simulated disk refuses all operations that a real disk refuses. */
export class MemoryDisk implements NodeDisk {
  readonly #entries = new Map<string, Entry>();
  readonly #onChange: (() => void) | undefined;

  constructor(image: DiskImage = {}, onChange?: () => void) {
    this.#onChange = onChange;
    for (const [path, entry] of Object.entries(image)) {
      this.#entries.set(
        path,
        entry.kind === 'file' ? { ...entry, content: Buffer.from(entry.content, 'base64') } : entry,
      );
    }
  }

  image(): DiskImage {
    return Object.fromEntries(
      [...this.#entries].map(([path, entry]) => [
        path,
        entry.kind === 'file' ? { ...entry, content: Buffer.from(entry.content).toString('base64') } : entry,
      ]),
    );
  }

  paths(): readonly string[] {
    return [...this.#entries.keys()].toSorted();
  }

  async read(path: string): Promise<Entry | undefined> {
    return this.#entries.get(path);
  }

  async put(path: string, entry: Entry): Promise<void> {
    for (let parent = posix.dirname(path); parent !== '/'; parent = posix.dirname(parent)) {
      const found = this.#entries.get(parent);
      if (found && found.kind !== 'directory') throw new Error(`cannot write ${path}: ${parent} is not a directory`);
    }
    if (entry.kind !== 'directory' && this.#below(path))
      throw new Error(`cannot write ${path}: the path is a directory`);
    this.#entries.set(path, entry);
    this.#onChange?.();
  }

  async remove(path: string): Promise<void> {
    if (this.#entries.get(path)?.kind === 'directory' && this.#below(path)) return;
    if (this.#entries.delete(path)) this.#onChange?.();
  }

  async owned(found: Entry, wanted: Entry): Promise<boolean> {
    const of = (entry: Entry) => (entry.kind === 'link' ? [] : [entry.user ?? 0, entry.group ?? 0]);
    return JSON.stringify(of(found)) === JSON.stringify(of(wanted));
  }

  #below(path: string): boolean {
    return [...this.#entries.keys()].some((other) => other.startsWith(`${path}/`));
  }
}
