import type { ConfigDiff } from '../../config/diff.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import type { PostAction } from '../policy/disruption.ts';
import type { NodeDisk } from './disk.ts';

/** The machine of a daemon. */
export interface DaemonHost {
  readonly disk: NodeDisk;
  /** Changes with every boot. */
  bootId(): Promise<string>;
  /** The kernel's command line for the next boot. */
  commandLine(): Promise<string>;
  /** Atomic, like writes to the disk. */
  setCommandLine(line: string): Promise<void>;
  /** Reload, restart or daemon-reload; can be repeated. */
  act(action: PostAction): Promise<void>;
  /** May never return. */
  reboot(): Promise<void>;
  /** Called before files are written. An error fails the update. */
  prepare?(to: MachineConfig): Promise<void>;
  /** The part of a change that this machine does not support, as a message; undefined if it supports all. */
  unsupported?(diff: ConfigDiff, wanted: MachineConfig): string | undefined;
}
