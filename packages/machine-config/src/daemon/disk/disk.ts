/** The owner of a file is an ID or a name (default: root). */
export interface WantedFile {
  readonly kind: 'file';
  readonly content: Uint8Array;
  readonly mode: number;
  readonly user?: string | number | undefined;
  readonly group?: string | number | undefined;
}

/** A link of a config. */
export interface WantedLink {
  readonly kind: 'link';
  readonly target: string;
  readonly hard?: boolean | undefined;
}

/** A directory of a config. */
export interface WantedDirectory {
  readonly kind: 'directory';
  readonly mode: number;
  readonly user?: string | number | undefined;
  readonly group?: string | number | undefined;
}

/** An entry at a path. */
export type Entry = WantedFile | WantedLink | WantedDirectory;

/** The disk of a node. Every change of the disk is atomic, and is durable when its promise resolves. */
export interface NodeDisk {
  read(path: string): Promise<Entry | undefined>;
  put(path: string, entry: Entry): Promise<void>;
  /** Removes an entry if it exists. Removes a directory only if the directory is empty. */
  remove(path: string): Promise<void>;
  owned(found: Entry, wanted: Entry): Promise<boolean>;
}

const decoder = new TextDecoder();

/** Returns the content of a text file, or undefined if the file does not exist. */
export async function readText(disk: NodeDisk, path: string): Promise<string | undefined> {
  const entry = await disk.read(path);
  return entry?.kind === 'file' ? decoder.decode(entry.content) : undefined;
}

/** Returns a file entry with the given text, for {@link NodeDisk.put}. */
export const textEntry = (text: string, mode = 0o600): WantedFile => ({
  kind: 'file',
  content: new TextEncoder().encode(text),
  mode,
});
