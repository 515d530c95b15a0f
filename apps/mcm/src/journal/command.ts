import type { Command } from 'commander';
import { objectText, withAllNamespaces, withCluster, withOutput, withSelector } from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import type { JournalFlags } from './run.ts';
import type { ReplayFlags } from './run-replay.ts';

export function addJournal(program: Command, environment: CommandEnvironment): void {
  const journal = program
    .command('journal')
    .description('list the most recent decisions of the controllers about an object, oldest first')
    .argument('[object...]', 'TYPE/NAME, TYPE NAME, or the name of a machinedeployment (default: all objects)')
    .option('--limit <count>', 'print only the given number of most recent decisions')
    .option('-w, --watch', 'also print new decisions, until Ctrl-C');
  withOutput(
    withController(withCluster(withSelector(withAllNamespaces(journal), 'decisions about machinedeployments'))),
  ).action(async (words: string[], flags: JournalFlags) => {
    if (words.length > 0 && (flags.allNamespaces || flags.selector !== undefined))
      throw new UserError('a name cannot be used together with --all-namespaces or --selector');
    const { reportJournal } = await import('./run.ts');
    await reportJournal(words.length === 0 ? undefined : objectText(words), flags, environment);
  });
  withOutput(
    program
      .command('replay')
      .description('repeat recorded decisions with this version of mcm and show the first difference')
      .argument('<bundle...>', 'folders of "mcm debug bundle", or files with journals')
      .option('--all', 'show all differences'),
  ).action(async (paths: string[], flags: ReplayFlags) => {
    const { reportReplay } = await import('./run-replay.ts');
    await reportReplay(paths, flags, environment);
  });
}

/** Adds to a command the flag that sets the addresses of controllers. */
export const withController = (command: Command): Command =>
  command.option(
    '--controller <url>',
    'address of a controller; repeatable (default: the local instance, or http://127.0.0.1:10258 and :10259)',
    (url: string, before: readonly string[] = []) => [...before, url],
  );
