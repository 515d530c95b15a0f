import type { Command } from 'commander';
import { type AskFlags, withCluster, withOutput } from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { withController } from '../journal/command.ts';
import type { ControllerFlags } from '../journal/controllers.ts';

export function addDebug(program: Command, environment: CommandEnvironment): void {
  withOutput(
    withController(
      withCluster(
        program
          .command('debug')
          .description('collect data for a support request')
          .command('bundle')
          .description('write data for the analysis of machines to a new folder, without secrets')
          .argument('[folder]', 'a folder that does not exist yet (default: mcm-bundle-TIME)'),
      ),
    ),
  ).action(async (folder: string | undefined, flags: AskFlags & ControllerFlags) => {
    const { writeBundle } = await import('./run.ts');
    await writeBundle(folder, flags, environment);
  });
}
