import type { Command } from 'commander';
import { type AskFlags, withCluster, withOutput } from '../cluster/cluster-options.ts';
import type { CommandSurroundings } from '../command/surroundings.ts';

/** Adds `tree`. */
export function addTree(program: Command, surroundings: CommandSurroundings): void {
  withOutput(
    withCluster(
      program
        .command('tree')
        .description('show deployments with their sets, machines, VMs and nodes, and the problem of each')
        .argument('[deployment]', 'only this deployment'),
    ),
  ).action(async (deployment: string | undefined, flags: AskFlags) => {
    const { tellTree } = await import('./run.ts');
    await tellTree(deployment, flags, surroundings);
  });
}
