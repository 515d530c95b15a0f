import type { Command } from 'commander';
import { type AskFlags, withCluster, withOutput } from '../cluster/cluster-options.ts';
import type { CommandSurroundings } from '../command/surroundings.ts';

/** Adds `events`. */
export function addEvents(program: Command, surroundings: CommandSurroundings): void {
  withOutput(
    withCluster(
      program
        .command('events')
        .description('list the events of machines and their owners, oldest first')
        .argument('[object]', 'only events of this object: KIND/NAME, or the name of a machinedeployment'),
    ),
  ).action(async (object: string | undefined, flags: AskFlags) => {
    const { tellEvents } = await import('./run.ts');
    await tellEvents(object, flags, surroundings);
  });
}
