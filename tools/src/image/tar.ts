export interface Entry {
  /** The path relative to the root, without a slash at its start or end. */
  readonly path: string;
  readonly mode: number;
  readonly data?: Uint8Array;
}

const BLOCK = 512;
const NAME_LENGTH = 100;
const PREFIX_LENGTH = 155;

/** Splits a long path into the two fields of the format. */
function splitPath(path: string): readonly [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= NAME_LENGTH) return ['', path];
  for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)];
    if (Buffer.byteLength(prefix) <= PREFIX_LENGTH && Buffer.byteLength(name) <= NAME_LENGTH) return [prefix, name];
  }
  throw new Error(`the path ${path} is too long for an archive, which allows ${NAME_LENGTH} bytes`);
}

const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`;

/** Creates a header of POSIX.1-1988 (ustar). */
function header({ path, mode, data }: Entry, seconds: number): Buffer {
  const [prefix, name] = splitPath(data ? path : `${path}/`);
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0);
  block.write(octal(mode, 8), 100);
  block.write(octal(0, 8), 108);
  block.write(octal(0, 8), 116);
  block.write(octal(data?.length ?? 0, 12), 124);
  block.write(octal(seconds, 12), 136);
  block.write(' '.repeat(8), 148);
  block.write(data ? '0' : '5', 156);
  block.write('ustar\x0000', 257);
  block.write(octal(0, 8), 329);
  block.write(octal(0, 8), 337);
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

const foldersAbove = (path: string): string[] =>
  path.split('/').flatMap((_part, index, parts) => (index === 0 ? [] : [parts.slice(0, index).join('/')]));

/**
 * Creates an archive whose bytes depend only on the entries. The function sorts the entries by path, gives them the
 * same time, and adds parent folders.
 * @param seconds Unix time.
 */
export function archive(entries: readonly Entry[], seconds: number): Buffer {
  const all = new Map<string, Entry>();
  for (const { path } of entries)
    for (const folder of foldersAbove(path)) all.set(folder, { path: folder, mode: 0o755 });
  for (const entry of entries) all.set(entry.path, entry);
  const sorted = [...all.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const blocks = sorted.flatMap((entry) => {
    const data = entry.data ?? new Uint8Array();
    return [header(entry, seconds), data, Buffer.alloc((BLOCK - (data.length % BLOCK)) % BLOCK)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}
