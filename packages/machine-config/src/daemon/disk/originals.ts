import { DaemonPaths } from '../../config/daemon-paths.ts';
import type { NodeDisk } from './disk.ts';
import { textEntry } from './disk.ts';

const originalOf = (path: string): string => `${DaemonPaths.Originals}${path}.mcdorig`;
const noOriginalOf = (path: string): string => `${DaemonPaths.NoOriginals}${path}.mcdnoorig`;

/** Stores the original entries of the operating system. */
export class Originals {
  readonly #disk: NodeDisk;

  constructor(disk: NodeDisk) {
    this.#disk = disk;
  }

  /**
   * Stores the original entry of a path only once. After a crash, the current entry of the path may already come from a
   * config.
   */
  async keep(path: string): Promise<void> {
    const disk = this.#disk;
    if ((await disk.read(originalOf(path))) || (await disk.read(noOriginalOf(path)))) return;
    const found = await disk.read(path);
    if (found && found.kind !== 'directory') await disk.put(originalOf(path), found);
    else await disk.put(noOriginalOf(path), textEntry(''));
  }

  /** Returns the original content of a file. */
  async content(path: string): Promise<Uint8Array> {
    const kept = await this.#disk.read(originalOf(path));
    return kept?.kind === 'file' ? kept.content : new Uint8Array();
  }

  /** Restores the original entry of a path. */
  async restore(path: string): Promise<void> {
    const kept = await this.#disk.read(originalOf(path));
    if (kept) await this.#disk.put(path, kept);
    else await this.#disk.remove(path);
  }

  async forget(path: string): Promise<void> {
    await this.#disk.remove(originalOf(path));
    await this.#disk.remove(noOriginalOf(path));
  }
}
