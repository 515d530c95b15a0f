import type { ConfigDiff } from '../../config/diff.ts';
import type { MachineConfig } from '../../kinds/machine-config.ts';
import type { PostAction } from '../policy/disruption.ts';
import type { NodeDisk } from './disk.ts';

/** The functions of the machine on which the daemon runs. */
export interface DaemonHost {
  readonly disk: NodeDisk;
  bootId(): Promise<string>;
  commandLine(): Promise<string>;
  setCommandLine(line: string): Promise<void>;
  /** Reloads or restarts a unit, or reloads systemd; callers may repeat the action. */
  act(action: PostAction): Promise<void>;
  /** Reboots the machine; the promise may never resolve. */
  reboot(): Promise<void>;
  /** Called before the daemon writes files; if `prepare` throws an error, the update fails. */
  prepare?(to: MachineConfig): Promise<void>;
  unsupported?(diff: ConfigDiff, wanted: MachineConfig): string | undefined;
}
