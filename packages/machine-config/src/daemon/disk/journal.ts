import { DaemonPaths } from '../../config/daemon-paths.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import type { PostAction } from '../disruption.ts';
import { type NodeDisk, readText, textEntry } from './disk.ts';

/** How far an update has come. `applied`: the disk has all of it; what is left are actions or the reboot. */
export type UpdatePhase = 'applying' | 'undoing' | 'applied';

/** An update under way. Whatever step the daemon dies at, this says how to go on. */
export interface Journal {
  readonly phase: UpdatePhase;
  /** What the disk had; absent: nothing of ours. */
  readonly from?: MachineConfig;
  readonly to: MachineConfig;
  readonly actions: readonly PostAction[];
  /** The kernel's command line before. */
  readonly commandLine: string;
  /** The boot in which the update began. */
  readonly bootId: string;
  /** What Ignition left to do at the first boot. */
  readonly first?: true;
}

/** Reads the journal; undefined if no update is under way. */
export async function readJournal(disk: NodeDisk): Promise<Journal | undefined> {
  const text = await readText(disk, DaemonPaths.Journal);
  return text === undefined ? undefined : (JSON.parse(text) as Journal);
}

export const writeJournal = (disk: NodeDisk, journal: Journal): Promise<void> =>
  disk.put(DaemonPaths.Journal, textEntry(JSON.stringify(journal)));

export const dropJournal = (disk: NodeDisk): Promise<void> => disk.remove(DaemonPaths.Journal);

/** The config that the disk has in full, as the daemon stored it; undefined before the first. */
export async function storedConfig(disk: NodeDisk): Promise<MachineConfig | undefined> {
  const text = await readText(disk, DaemonPaths.CurrentConfig);
  return text === undefined ? undefined : (JSON.parse(text) as MachineConfig);
}

/** Notes what the disk has in full. */
export const storeConfig = (disk: NodeDisk, config: MachineConfig): Promise<void> =>
  disk.put(DaemonPaths.CurrentConfig, textEntry(JSON.stringify(config)));
