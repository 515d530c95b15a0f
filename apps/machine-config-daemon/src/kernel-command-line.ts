import { type NodeDisk, readText } from '@mcm/machine-config';

/** The file from which kernel-install creates new boot entries. */
const CMDLINE = '/etc/kernel/cmdline';
const ENTRIES = '/boot/loader/entries';

/** Returns the paths of boot entries. */
export type ListEntries = (directory: string) => Promise<readonly string[]>;

const optionsOf = (text: string): string => /^options[ \t]+(.*)$/m.exec(text)?.[1]?.trim() ?? '';

/** Reads the kernel arguments of the next boot, from the file for new boot entries or from the newest boot entry. */
export async function readCommandLine(disk: NodeDisk, list: ListEntries): Promise<string> {
  const text = await readText(disk, CMDLINE);
  if (text !== undefined) return text.trim();
  const newest = (await list(ENTRIES)).at(-1);
  return newest === undefined ? '' : optionsOf((await readText(disk, newest)) ?? '');
}

/**
 * Writes the kernel arguments to all boot entries, and then to the file for new boot entries. If the daemon crashes
 * before the last write, the daemon repeats all writes.
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
