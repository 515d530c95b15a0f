import { DaemonPaths } from '../../config/daemon-paths.ts';
import type { NodeDisk } from './disk.ts';
import { textEntry } from './disk.ts';

const originalOf = (path: string): string => `${DaemonPaths.Originals}${path}.mcdorig`;
const noOriginalOf = (path: string): string => `${DaemonPaths.NoOriginals}${path}.mcdnoorig`;

/** What the system had at a path before any config came: kept when the first one is about to replace it. */
export class Originals {
  readonly #disk: NodeDisk;

  constructor(disk: NodeDisk) {
    this.#disk = disk;
  }

  /** Notes what is there, once: after a crash it may already be a config's. */
  async keep(path: string): Promise<void> {
    const disk = this.#disk;
    if ((await disk.read(originalOf(path))) || (await disk.read(noOriginalOf(path)))) return;
    const found = await disk.read(path);
    if (found && found.kind !== 'directory') await disk.put(originalOf(path), found);
    else await disk.put(noOriginalOf(path), textEntry(''));
  }

  /** Content that was there; empty if there was none. */
  async content(path: string): Promise<Uint8Array> {
    const kept = await this.#disk.read(originalOf(path));
    return kept?.kind === 'file' ? kept.content : new Uint8Array();
  }

  /** Puts back what was there, or takes away what is. The note stays until {@link forget}. */
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
