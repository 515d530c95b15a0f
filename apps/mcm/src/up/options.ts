import { UserError } from '../command/errors.ts';
import { DEFAULT_DATA_DIR } from '../command/surroundings.ts';
import { PROVIDERS, type ProviderName } from './clouds/provider.ts';

/** Flags of `mcm up` as the command line gives them. */
export interface UpFlags {
  readonly dataDir?: string;
  readonly port?: string;
  readonly machines?: string;
  readonly provider?: string;
  readonly machineConfig?: boolean;
  readonly exitWhenReady?: boolean;
  readonly tty?: boolean;
  readonly quiet?: boolean;
}

/** The same, checked and complete. */
export interface UpOptions {
  readonly dataDir: string;
  /** Port of the control plane; undefined: the one used last, else any free one. */
  readonly port: number | undefined;
  /** Machines that the first deployment asks for; undefined: 3 at the first start, unchanged later. */
  readonly machines: number | undefined;
  /** Undefined: the directory's, else local. */
  readonly provider: ProviderName | undefined;
  /** Machine configs too; undefined: as the directory was made. */
  readonly machineConfig: boolean | undefined;
  readonly exitWhenReady: boolean;
  readonly live: boolean;
  readonly quiet: boolean;
}

const MAX_MACHINES = 10_000;

/** @throws {UserError} naming the flag and what it takes. */
export function compileUpOptions(flags: UpFlags, terminal: boolean): UpOptions {
  return {
    dataDir: flags.dataDir ?? DEFAULT_DATA_DIR,
    port: integer('--port', flags.port, 0, 65_535) || undefined,
    machines: integer('--machines', flags.machines, 0, MAX_MACHINES),
    provider: providerName(flags.provider),
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
    throw new UserError(`${flag} takes a whole number from ${min} to ${max}, not "${text}"`);
  return value;
}

function providerName(text: string | undefined): ProviderName | undefined {
  if (text === undefined) return undefined;
  const found = PROVIDERS.find((name) => name === text);
  if (found === undefined) throw new UserError(`--provider takes one of ${PROVIDERS.join(', ')}, not "${text}"`);
  return found;
}
