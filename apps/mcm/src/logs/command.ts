import { type Command, InvalidArgumentError, Option } from 'commander';
import { withOutput } from '../cluster/cluster-options.ts';
import type { CommandSurroundings } from '../command/surroundings.ts';
import { DEFAULT_DATA_DIR } from '../command/surroundings.ts';
import { LEVELS } from './entry.ts';
import type { LogFlags } from './show.ts';

function count(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new InvalidArgumentError(`"${text}" is no count; write a whole number, such as 100`);
}

/** Adds `logs`. */
export function addLogs(program: Command, { say, signal }: Pick<CommandSurroundings, 'say' | 'signal'>): void {
  withOutput(
    program
      .command('logs')
      .description('show what the programs of "mcm up" logged, all of them in the order of time')
      .argument('[program...]', 'only of these, such as machine-controller-manager')
      .option('-f, --follow', 'go on with what is logged from now on, over restarts, until Ctrl-C')
      .option('--machine <name>', 'only what is about this machine')
      .addOption(new Option('--level <level>', 'only this level and those above it').choices(LEVELS))
      .option('--tail <count>', 'of what is there, only so many of the last lines', count)
      .option('--data-dir <dir>', 'of the instance', DEFAULT_DATA_DIR),
  ).action(async (programs: string[], flags: LogFlags) => {
    const { showLogs } = await import('./show.ts');
    await showLogs(programs, flags, { say, signal: signal() });
  });
}
