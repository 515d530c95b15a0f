import { DaemonPaths } from '../../config/daemon-paths.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import type { PostAction } from '../policy/disruption.ts';
import { type NodeDisk, readText, textEntry } from './disk.ts';

/** The phase of an update. */
export type UpdatePhase = 'applying' | 'undoing' | 'applied';

/** The journal of an update, with which the daemon can continue after a crash at any step. */
export interface Journal {
  readonly phase: UpdatePhase;
  readonly from?: MachineConfig | undefined;
  readonly to: MachineConfig;
  readonly actions: readonly PostAction[];
  readonly commandLine: string;
  readonly bootId: string;
  readonly first?: true;
}

export async function readJournal(disk: NodeDisk): Promise<Journal | undefined> {
  const text = await readText(disk, DaemonPaths.Journal);
  return text === undefined ? undefined : (JSON.parse(text) as Journal);
}

export const writeJournal = (disk: NodeDisk, journal: Journal): Promise<void> =>
  disk.put(DaemonPaths.Journal, textEntry(JSON.stringify(journal)));

export const dropJournal = (disk: NodeDisk): Promise<void> => disk.remove(DaemonPaths.Journal);

/** Returns the config whose files are complete on the disk, or undefined before the first config. */
export async function storedConfig(disk: NodeDisk): Promise<MachineConfig | undefined> {
  const text = await readText(disk, DaemonPaths.CurrentConfig);
  return text === undefined ? undefined : (JSON.parse(text) as MachineConfig);
}

export const storeConfig = (disk: NodeDisk, config: MachineConfig): Promise<void> =>
  disk.put(DaemonPaths.CurrentConfig, textEntry(JSON.stringify(config)));
