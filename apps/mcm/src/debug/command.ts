import type { Command } from 'commander';
import { type AskFlags, withCluster, withOutput } from '../cluster/cluster-options.ts';
import type { CommandSurroundings } from '../command/surroundings.ts';

/** Adds `debug bundle`. */
export function addDebug(program: Command, surroundings: CommandSurroundings): void {
  withOutput(
    withCluster(
      program
        .command('debug')
        .description('help somebody else to help you')
        .command('bundle')
        .description('write what tells why machines are where they are into a new folder, without secrets')
        .argument('[folder]', 'a folder that is not there yet (default: mcm-bundle-TIME)'),
    ),
  ).action(async (folder: string | undefined, flags: AskFlags) => {
    const { writeBundle } = await import('./run.ts');
    await writeBundle(folder, flags, surroundings);
  });
}
