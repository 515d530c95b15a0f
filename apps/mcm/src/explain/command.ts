import type { Command } from 'commander';
import { type AskFlags, withCluster, withOutput } from '../cluster/cluster-options.ts';
import { UserError } from '../command/errors.ts';
import type { CommandSurroundings } from '../command/surroundings.ts';

/** Adds `explain`: why something is where it is. */
export function addExplain(program: Command, surroundings: CommandSurroundings): void {
  withOutput(
    withCluster(
      program
        .command('explain')
        .description('say why a machinedeployment or machine is where it is, what it waits for, and what would help')
        .argument('<object>', 'machinedeployment/NAME or machine/NAME'),
    ),
  ).action(async (text: string, flags: AskFlags) => {
    const { tellWhy } = await import('./run.ts');
    await tellWhy(text, flags, surroundings);
  });
}

/** Adds `drain`, which only looks. */
export function addDrain(program: Command, surroundings: CommandSurroundings): void {
  withOutput(
    withCluster(
      program
        .command('drain')
        .description('say what a drain of a machine does, or would do if it were deleted now; changes nothing')
        .argument('<machine>', 'its name, or machine/NAME')
        // Not required in the parser's sense: that would hide a flag that is misspelt.
        .option('--preview', 'the only thing that this command does; machines are drained by deleting them'),
    ),
  ).action(async (text: string, flags: AskFlags & { preview?: true }) => {
    if (flags.preview === undefined)
      throw new UserError('--preview is missing: this command only looks; machines are drained by deleting them');
    const { tellDrain } = await import('./run.ts');
    await tellDrain(text, flags, surroundings);
  });
}
