import type { Command } from 'commander';
import { type AskFlags, objectText, withCluster, withOutput } from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';

export function addExplain(program: Command, environment: CommandEnvironment): void {
  withOutput(
    withCluster(
      program
        .command('explain')
        .description('explain the state of a machinedeployment or machine, with the cause of a wait and possible fixes')
        .argument('<object...>', 'machinedeployment/NAME or machine/NAME; a space may replace the slash'),
    ),
  ).action(async (words: string[], flags: AskFlags) => {
    const { reportWhy } = await import('./run.ts');
    await reportWhy(objectText(words), flags, environment);
  });
}

/** Adds `mcm drain`, which only shows a preview. */
export function addDrain(program: Command, environment: CommandEnvironment): void {
  withOutput(
    withCluster(
      program
        .command('drain')
        .description(
          'show the drain of a machine in deletion, or preview the drain of another machine; changes nothing',
        )
        .argument('<machine...>', 'its name, or machine/NAME')
        // Commander does not require the option, because commander would report a missing option before a misspelled
        // flag.
        .option(
          '--preview',
          'required, because the command only previews drains; to drain a machine, delete the machine',
        ),
    ),
  ).action(async (words: string[], flags: AskFlags & { preview?: true }) => {
    if (flags.preview === undefined)
      throw new UserError(
        '--preview is required, because the command only previews drains; to drain a machine, delete the machine',
      );
    const { reportDrain } = await import('./run.ts');
    await reportDrain(objectText(words), flags, environment);
  });
}
