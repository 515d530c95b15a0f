import { type FileHandle, open, stat } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';

const CHUNK = 64 * 1024;
const HEAD = 256;

/**
 * Reads the new lines of a log file. `FileTail` detects when a rotation replaces the file, or when a restart empties
 * it.
 */
export class FileTail {
  readonly #path: string;
  #file: FileHandle | undefined;
  #inode = 0;
  #offset = 0;
  #head = Buffer.alloc(0);
  #decoder = new StringDecoder('utf8');
  #rest = '';

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns the complete lines since the last call. */
  async read(): Promise<string[]> {
    const lines: string[] = [];
    // The last lines of the old file come before the lines of the new file.
    if (this.#file) {
      if (await this.#beginsAnew(this.#file)) lines.push(...this.#begin());
      lines.push(...(await this.#readOn(this.#file)));
    }
    const there = await inodeOf(this.#path);
    if (there === undefined || (this.#file && there === this.#inode)) return lines;
    // Directly after the rotation, the program may still write to the old file.
    if (this.#file) lines.push(...(await this.#readOn(this.#file)));
    await this.close();
    // If the new file has already disappeared, the next call opens its successor.
    this.#file = await openIfThere(this.#path);
    if (!this.#file) return lines;
    this.#inode = (await this.#file.stat()).ino;
    lines.push(...this.#begin());
    return [...lines, ...(await this.#readOn(this.#file))];
  }

  /** Returns a list with the incomplete last line. */
  get unfinished(): readonly string[] {
    return this.#rest === '' ? [] : [this.#rest];
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  /** Continues at the start of the file. */
  #begin(): readonly string[] {
    const left = this.unfinished;
    this.#offset = 0;
    this.#head = Buffer.alloc(0);
    this.#decoder = new StringDecoder('utf8');
    this.#rest = '';
    return left;
  }

  /**
   * Returns true if the file was emptied and written again. The file may already be longer than before, so the function
   * also compares its first bytes.
   */
  async #beginsAnew(file: FileHandle): Promise<boolean> {
    const { size } = await file.stat();
    const head = Buffer.alloc(this.#head.length);
    const { bytesRead } = await file.read(head, 0, head.length, 0);
    return size < this.#offset || !head.subarray(0, bytesRead).equals(this.#head);
  }

  async #readOn(file: FileHandle): Promise<string[]> {
    const lines: string[] = [];
    for (;;) {
      const chunk = Buffer.alloc(CHUNK);
      const { bytesRead } = await file.read(chunk, 0, CHUNK, this.#offset);
      if (bytesRead === 0) return lines;
      const read = chunk.subarray(0, bytesRead);
      if (this.#head.length < HEAD && this.#offset === this.#head.length)
        this.#head = Buffer.concat([this.#head, read.subarray(0, HEAD - this.#head.length)]);
      this.#offset += bytesRead;
      const pieces = (this.#rest + this.#decoder.write(read)).split('\n');
      this.#rest = pieces.pop() ?? '';
      lines.push(...pieces);
    }
  }
}

async function inodeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).ino;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';
