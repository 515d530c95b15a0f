import { type NodeDisk, readText } from '@mcm/machine-config';

/** kernel-install creates boot entries from the file. */
const CMDLINE = '/etc/kernel/cmdline';
const ENTRIES = '/boot/loader/entries';

/** Returns the paths of boot entries. A NodeDisk has no operation to list files. */
export type ListEntries = (directory: string) => Promise<readonly string[]>;

const optionsOf = (text: string): string => /^options[ \t]+(.*)$/m.exec(text)?.[1]?.trim() ?? '';

/** Reads the command line of the next boot from the file for new entries, or from the newest entry. */
export async function readCommandLine(disk: NodeDisk, list: ListEntries): Promise<string> {
  const text = await readText(disk, CMDLINE);
  if (text !== undefined) return text.trim();
  const newest = (await list(ENTRIES)).at(-1);
  return newest === undefined ? '' : optionsOf((await readText(disk, newest)) ?? '');
}

/**
 * Writes the command line to all boot entries, and then to the file for new entries. `readCommandLine` reads the file
 * for new entries. The file for new entries is written last, so the write is repeated after a crash.
 */
export async function writeCommandLine(disk: NodeDisk, list: ListEntries, line: string): Promise<void> {
  for (const path of await list(ENTRIES)) {
    const entry = await disk.read(path);
    if (entry?.kind !== 'file') continue;
    const before = Buffer.from(entry.content).toString('utf8');
    const after = before.replace(/^options[ \t]+.*$/m, () => `options ${line}`);
    if (after !== before) await disk.put(path, { ...entry, content: Buffer.from(after) });
  }
  const file = await disk.read(CMDLINE);
  const kept = file?.kind === 'file' ? file : { kind: 'file' as const, mode: 0o644 };
  await disk.put(CMDLINE, { ...kept, content: Buffer.from(`${line}\n`) });
}
