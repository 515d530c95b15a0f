import type { ConfigDiff } from '../../config/diff.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import type { PostAction } from '../disruption.ts';
import type { NodeDisk } from './disk.ts';

/** The machine that a daemon looks after. */
export interface DaemonHost {
  readonly disk: NodeDisk;
  /** Changes with every boot. */
  bootId(): Promise<string>;
  /** The kernel's command line of the next boot. */
  commandLine(): Promise<string>;
  /** Whole or not at all, like the disk. */
  setCommandLine(line: string): Promise<void>;
  /** Reload, restart or daemon-reload; repeating it is fine. */
  act(action: PostAction): Promise<void>;
  /** May never come back. */
  reboot(): Promise<void>;
  /** Called before files are written; what it throws fails the update. */
  prepare?(to: MachineConfig): Promise<void>;
  /** What of a change this machine has no means for, in words; undefined: nothing. */
  unsupported?(diff: ConfigDiff, wanted: MachineConfig): string | undefined;
}
