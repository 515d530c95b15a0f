import { DaemonPaths } from '../config/daemon-paths.ts';
import { ignitionOrEmpty } from '../config/diff.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import { readText, textEntry } from './disk/disk.ts';
import type { DaemonHost } from './disk/host.ts';
import { dropJournal, type Journal, storeConfig, writeJournal } from './disk/journal.ts';
import { nextCommandLine } from './disk/kernel-arguments.ts';
import { Originals } from './disk/originals.ts';
import { resolveWanted } from './disk/resolve.ts';
import { findDrift, mismatch } from './drift.ts';

/**
 * Executes the update in a journal. After a crash between two steps, a second call of `applyJournal` has an equal
 * result.
 */
export async function applyJournal(host: DaemonHost, journal: Journal): Promise<void> {
  const { disk } = host;
  const { from, to, commandLine } = journal;
  await bring(host, from, to);
  await setLine(host, nextCommandLine(commandLine, from?.spec?.kernelArguments ?? [], to.spec?.kernelArguments ?? []));
  const problem = await findDrift(disk, to);
  if (problem !== undefined) throw new Error(problem);
  await storeConfig(disk, to);
  await writeJournal(disk, { ...journal, phase: 'applied' });
}

/** Undoes the completed steps of an update, and deletes the journal. */
export async function undoJournal(host: DaemonHost, journal: Journal): Promise<void> {
  const { disk } = host;
  const { from, to, commandLine } = journal;
  if (journal.phase !== 'undoing') await writeJournal(disk, { ...journal, phase: 'undoing' });
  await bring(host, to, from);
  await setLine(host, commandLine);
  if (from) await storeConfig(disk, from);
  else await disk.remove(DaemonPaths.CurrentConfig);
  await forgetOriginals(host, to, from);
  await dropJournal(disk);
}

export const finishJournal = async (host: DaemonHost, { from, to }: Journal): Promise<void> => {
  await forgetOriginals(host, from, to);
  await dropJournal(host.disk);
};

async function setLine(host: DaemonHost, line: string): Promise<void> {
  if ((await host.commandLine()) !== line) await host.setCommandLine(line);
}

/** The daemon writes new entries before it removes old entries, so that a unit never lacks its files. */
async function bring(
  host: DaemonHost,
  old: MachineConfig | undefined,
  wanted: MachineConfig | undefined,
): Promise<void> {
  const { disk } = host;
  const originals = new Originals(disk);
  const before = await pathsOf(host, old);
  for (const path of await pathsOf(host, wanted)) if (!before.has(path)) await originals.keep(path);
  const { entries, absent } = await resolveWanted(disk, wanted);
  for (const [path, entry] of entries) {
    if ((await mismatch(disk, path, entry)) !== undefined) await disk.put(path, entry);
  }
  for (const path of [...before].toReversed()) if (!entries.has(path)) await originals.restore(path);
  for (const path of absent) await disk.remove(path);
  await setPassword(host, wanted);
}

/** Returns the paths that a config writes, or none for a config that cannot be read. */
async function pathsOf({ disk }: DaemonHost, config: MachineConfig | undefined): Promise<ReadonlySet<string>> {
  const { entries, absent } = await resolveWanted(disk, config);
  return new Set([...entries.keys(), ...absent]);
}

async function forgetOriginals(
  host: DaemonHost,
  old: MachineConfig | undefined,
  kept: MachineConfig | undefined,
): Promise<void> {
  const originals = new Originals(host.disk);
  const still = await pathsOf(host, kept);
  for (const path of await pathsOf(host, old)) if (!still.has(path)) await originals.forget(path);
}

async function setPassword({ disk }: DaemonHost, wanted: MachineConfig | undefined): Promise<void> {
  const user = ignitionOrEmpty(wanted).passwd?.users?.findLast(({ name }) => name === 'core');
  if (user?.passwordHash === undefined) return;
  const found = await disk.read(DaemonPaths.Shadow);
  const lines = ((await readText(disk, DaemonPaths.Shadow)) ?? '').split('\n');
  const at = lines.findIndex((line) => line.startsWith('core:'));
  if (at < 0 || found?.kind !== 'file')
    throw new Error('failed to set the password of user core: the machine has no user core');
  const [name, , ...rest] = (lines[at] ?? '').split(':');
  lines[at] = [name, user.passwordHash, ...rest].join(':');
  const { content } = textEntry(lines.join('\n'));
  if (!Buffer.from(content).equals(found.content)) await disk.put(DaemonPaths.Shadow, { ...found, content });
}
