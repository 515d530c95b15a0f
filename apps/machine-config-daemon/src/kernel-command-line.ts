import { type NodeDisk, readText } from '@mcm/machine-config';

/** What kernel-install makes boot entries of. */
const CMDLINE = '/etc/kernel/cmdline';
/** The entries that are there already, as the Boot Loader Specification has them. */
const ENTRIES = '/boot/loader/entries';

/** Boot entries by path; listing them is the machine's, since a disk knows paths only. */
export type ListEntries = (directory: string) => Promise<readonly string[]>;

const optionsOf = (text: string): string => /^options[ \t]+(.*)$/m.exec(text)?.[1]?.trim() ?? '';

/** The command line of the next boot: what new entries are made with, else what the newest entry has. */
export async function readCommandLine(disk: NodeDisk, list: ListEntries): Promise<string> {
  const text = await readText(disk, CMDLINE);
  if (text !== undefined) return text.trim();
  const newest = (await list(ENTRIES)).at(-1);
  return newest === undefined ? '' : optionsOf((await readText(disk, newest)) ?? '');
}

/** Gives it to every boot entry, and last to those to come: that one is read, so a crash before it begins anew. */
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
