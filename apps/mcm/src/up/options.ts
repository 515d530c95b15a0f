import { DEFAULT_DATA_DIR } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';

export interface UpFlags {
  readonly dataDir?: string;
  readonly port?: string;
  readonly machines?: string;
  readonly provider?: string;
  readonly machineConfig?: boolean;
  readonly exitWhenReady?: boolean;
  readonly tty?: boolean;
  readonly color?: boolean;
  readonly quiet?: boolean;
}

export interface UpOptions {
  readonly dataDir: string;
  /** If `port` is undefined, the first start selects a free port, and later starts use this port again. */
  readonly port: number | undefined;
  /** If `machines` is undefined, the first start creates 3 replicas, and later starts change nothing. */
  readonly machines: number | undefined;
  /** If `provider` is undefined, the first start uses `local`, and later starts use the provider of the directory. */
  readonly provider: string | undefined;
  /**
   * Whether `mcm up` also runs the machine-config-controller. If `machineConfig` is undefined, the choice of the first
   * start applies.
   */
  readonly machineConfig: boolean | undefined;
  readonly exitWhenReady: boolean;
  readonly live: boolean;
  readonly quiet: boolean;
}

const MAX_MACHINES = 10_000;

/**
 * Validates the flags of `mcm up`, and adds defaults.
 * @throws {UserError} with the name and the valid values of the flag
 */
export function compileUpOptions(flags: UpFlags, terminal: boolean): UpOptions {
  return {
    dataDir: flags.dataDir ?? DEFAULT_DATA_DIR,
    port: integer('--port', flags.port, 0, 65_535) || undefined,
    machines: integer('--machines', flags.machines, 0, MAX_MACHINES),
    provider: flags.provider,
    machineConfig: flags.machineConfig,
    exitWhenReady: flags.exitWhenReady ?? false,
    live: terminal && flags.tty !== false && !flags.quiet,
    quiet: flags.quiet ?? false,
  };
}

function integer(flag: string, text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new UserError(`${flag} must be a whole number from ${min} to ${max}, not "${text}"`);
  return value;
}
