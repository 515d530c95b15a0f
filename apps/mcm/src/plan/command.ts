import type { Command } from 'commander';
import { withCluster, withOutput } from '../cluster/cluster-options.ts';
import { UserError } from '../command/errors.ts';
import type { CommandSurroundings } from '../command/surroundings.ts';
import { GUESSES } from './guesses.ts';
import type { PlanFlags } from './run.ts';

const inMinutes = (ms: number): string => `${ms / 60_000}m`;

/** Adds `plan`. */
export function addPlan(program: Command, surroundings: CommandSurroundings): void {
  withOutput(
    withCluster(
      program
        .command('plan')
        .description(
          'say what would happen if machinedeployments were applied: which machines, in which order, how long, what stands in the way; changes nothing',
        )
        // Not required in the parser's sense: that would hide a flag that is misspelt.
        .option('-f, --filename <path>', 'file of machinedeployments (and machineclasses), or a directory of such')
        .option(
          '--join-time <duration>',
          `of a new machine (default: as machines took, else ${inMinutes(GUESSES.join)})`,
        )
        .option('--drain-time <duration>', `of a drain that nothing blocks (default: ${inMinutes(GUESSES.drain)})`)
        .option(
          '--update-time <duration>',
          `of an update in place, beside the drain (default: ${inMinutes(GUESSES.update)})`,
        ),
    ),
  ).action(async (flags: PlanFlags) => {
    const { filename } = flags;
    if (filename === undefined)
      throw new UserError('-f is missing: name a file of machinedeployments, or a directory of such');
    const { tellPlan } = await import('./run.ts');
    await tellPlan(filename, flags, surroundings);
  });
}
