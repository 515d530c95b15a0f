import type { ConfigDiff } from '../../config/diff.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import type { PostAction } from '../policy/disruption.ts';
import type { NodeDisk } from './disk.ts';

/** The functions of the machine on which the daemon runs. */
export interface DaemonHost {
  readonly disk: NodeDisk;
  /** Returns an ID that changes with every boot. */
  bootId(): Promise<string>;
  commandLine(): Promise<string>;
  /** Sets the kernel command line atomically. */
  setCommandLine(line: string): Promise<void>;
  /** Reloads or restarts a unit, or reloads systemd. The action can be repeated safely. */
  act(action: PostAction): Promise<void>;
  /** Reboots the machine. The promise may never resolve. */
  reboot(): Promise<void>;
  /** Called before the daemon writes files. If `prepare` throws an error, the update fails. */
  prepare?(to: MachineConfig): Promise<void>;
  /** Returns a message about the part of a change that the machine does not support. */
  unsupported?(diff: ConfigDiff, wanted: MachineConfig): string | undefined;
}
