import { type Command, InvalidArgumentError, Option } from 'commander';
import { withOutput } from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { DEFAULT_DATA_DIR } from '../command/environment.ts';
import { LEVELS } from './entry.ts';
import type { LogFlags } from './show.ts';

function count(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new InvalidArgumentError(`"${text}" is not a count; write a whole number, such as 100`);
}

export function addLogs(program: Command, { say, signal }: Pick<CommandEnvironment, 'say' | 'signal'>): void {
  withOutput(
    program
      .command('logs')
      .description('show the merged logs of the programs of "mcm up", in chronological order')
      .argument('[program...]', 'only the logs of the given programs, such as machine-controller-manager')
      .option('-f, --follow', 'also print new lines, across restarts, until Ctrl-C')
      .option('--machine <name>', 'print only lines about the given machine')
      .addOption(new Option('--level <level>', 'print only lines of the given level and higher levels').choices(LEVELS))
      .option('--tail <count>', 'print only the given number of most recent lines', count)
      .option('--data-dir <dir>', 'directory of the local instance', DEFAULT_DATA_DIR),
  ).action(async (programs: string[], flags: LogFlags) => {
    const { showLogs } = await import('./show.ts');
    await showLogs(programs, flags, { say, signal: signal() });
  });
}
