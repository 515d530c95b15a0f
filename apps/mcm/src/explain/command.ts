import type { Command } from 'commander';
import { type AskFlags, objectText, withCluster, withOutput } from '../cluster/cluster-options.ts';
import { UserError } from '../command/errors.ts';
import type { CommandSurroundings } from '../command/surroundings.ts';

/** Adds `mcm explain`. */
export function addExplain(program: Command, surroundings: CommandSurroundings): void {
  withOutput(
    withCluster(
      program
        .command('explain')
        .description('explain the state of a machinedeployment or machine, what it waits for, and possible fixes')
        .argument('<object...>', 'machinedeployment/NAME or machine/NAME; a space may replace the slash'),
    ),
  ).action(async (words: string[], flags: AskFlags) => {
    const { tellWhy } = await import('./run.ts');
    await tellWhy(objectText(words), flags, surroundings);
  });
}

/** Adds `mcm drain`, which only previews. */
export function addDrain(program: Command, surroundings: CommandSurroundings): void {
  withOutput(
    withCluster(
      program
        .command('drain')
        .description('show the drain of a machine, or a preview if it were deleted now; changes nothing')
        .argument('<machine...>', 'its name, or machine/NAME')
        // Not a required option: commander would then report it before a misspelled flag.
        .option('--preview', 'required: the command only previews; to drain a machine, delete it'),
    ),
  ).action(async (words: string[], flags: AskFlags & { preview?: true }) => {
    if (flags.preview === undefined)
      throw new UserError('--preview is required: the command only previews; to drain a machine, delete it');
    const { tellDrain } = await import('./run.ts');
    await tellDrain(objectText(words), flags, surroundings);
  });
}
