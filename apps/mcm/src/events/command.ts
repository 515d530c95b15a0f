import type { Command } from 'commander';
import { objectText, withAllNamespaces, withCluster, withOutput, withSelector } from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import type { EventsFlags } from './run.ts';

export function addEvents(program: Command, environment: CommandEnvironment): void {
  const command = program
    .command('events')
    .description('list the events of machines and of their owners, oldest first')
    .argument(
      '[object...]',
      'only events of the given object: TYPE/NAME, TYPE NAME, or the name of a machinedeployment',
    )
    .option('-w, --watch', 'also print new events, until Ctrl-C');
  withOutput(withCluster(withSelector(withAllNamespaces(command), 'events of machinedeployments'))).action(
    async (words: string[], flags: EventsFlags) => {
      if (words.length > 0 && (flags.allNamespaces || flags.selector !== undefined))
        throw new UserError('a name cannot be used together with --all-namespaces or --selector');
      const { reportEvents } = await import('./run.ts');
      await reportEvents(words.length === 0 ? undefined : objectText(words), flags, environment);
    },
  );
}
