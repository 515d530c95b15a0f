/** A file as a config wants it. Owners are ids or names; absent: root. */
export interface WantedFile {
  readonly kind: 'file';
  readonly content: Uint8Array;
  /** Permission bits. */
  readonly mode: number;
  readonly user?: string | number;
  readonly group?: string | number;
}

/** A link as a config wants it. */
export interface WantedLink {
  readonly kind: 'link';
  readonly target: string;
  readonly hard?: boolean;
}

/** A directory as a config wants it. */
export interface WantedDirectory {
  readonly kind: 'directory';
  readonly mode: number;
  readonly user?: string | number;
  readonly group?: string | number;
}

/** What may be at a path. */
export type Entry = WantedFile | WantedLink | WantedDirectory;

/**
 * A node's disk. Every change is whole or absent after a crash, and lasts once its promise is kept. Paths are absolute
 * and seen from the node.
 */
export interface NodeDisk {
  /** Undefined: nothing is there. Owners are ids. Hard links are files. */
  read(path: string): Promise<Entry | undefined>;
  /** Puts a file, link or directory there in place of what is there; parents are made. */
  put(path: string, entry: Entry): Promise<void>;
  /** Nothing there is fine. Directories go only if empty. */
  remove(path: string): Promise<void>;
  /** Whether a file that was read has the owner that is wanted. */
  owned(found: Entry, wanted: Entry): Promise<boolean>;
}

const decoder = new TextDecoder();

/** Content of a text file; undefined if there is none. */
export async function readText(disk: NodeDisk, path: string): Promise<string | undefined> {
  const entry = await disk.read(path);
  return entry?.kind === 'file' ? decoder.decode(entry.content) : undefined;
}

/** A file of text. @param mode permission bits */
export const textEntry = (text: string, mode = 0o600): WantedFile => ({
  ...{ kind: 'file', content: new TextEncoder().encode(text), mode },
});
