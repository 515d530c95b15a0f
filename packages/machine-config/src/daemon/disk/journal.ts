import { DaemonPaths } from '../../config/daemon-paths.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import type { PostAction } from '../policy/disruption.ts';
import { type NodeDisk, readText, textEntry } from './disk.ts';

/** The progress of an update. `applied`: the disk has the target; the actions or the reboot are still to do. */
export type UpdatePhase = 'applying' | 'undoing' | 'applied';

/** An update in progress. The daemon can continue from it after a crash at any step. */
export interface Journal {
  readonly phase: UpdatePhase;
  /** The config before the update; absent if there was none. */
  readonly from?: MachineConfig | undefined;
  readonly to: MachineConfig;
  readonly actions: readonly PostAction[];
  /** The kernel's command line before the update. */
  readonly commandLine: string;
  /** The boot in which the update started. */
  readonly bootId: string;
  /** The remaining steps of the first boot, after Ignition. */
  readonly first?: true;
}

/** Reads the journal; undefined if no update is in progress. */
export async function readJournal(disk: NodeDisk): Promise<Journal | undefined> {
  const text = await readText(disk, DaemonPaths.Journal);
  return text === undefined ? undefined : (JSON.parse(text) as Journal);
}

export const writeJournal = (disk: NodeDisk, journal: Journal): Promise<void> =>
  disk.put(DaemonPaths.Journal, textEntry(JSON.stringify(journal)));

export const dropJournal = (disk: NodeDisk): Promise<void> => disk.remove(DaemonPaths.Journal);

/** The config that the disk has completely, as the daemon stored it; undefined before the first one. */
export async function storedConfig(disk: NodeDisk): Promise<MachineConfig | undefined> {
  const text = await readText(disk, DaemonPaths.CurrentConfig);
  return text === undefined ? undefined : (JSON.parse(text) as MachineConfig);
}

/** Stores the config that the disk has completely. */
export const storeConfig = (disk: NodeDisk, config: MachineConfig): Promise<void> =>
  disk.put(DaemonPaths.CurrentConfig, textEntry(JSON.stringify(config)));
