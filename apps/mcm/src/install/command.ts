import { type Command, InvalidArgumentError, Option } from 'commander';
import { withCluster, withOutput } from '../cluster/cluster-options.ts';
import type { CommandSurroundings } from '../command/surroundings.ts';
import { DEFAULT_INSTALL, OPTIONAL_SECTIONS } from './objects/settings.ts';
import type { InstallFlags } from './run.ts';

function replicasOf(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError(`"${text}" is no count; write a whole number, such as 2`);
  return Number(text);
}

/** Adds `install`: everything of the pod of two containers, printed or applied. */
export function addInstall(program: Command, surroundings: Pick<CommandSurroundings, 'say' | 'signal'>): void {
  withOutput(
    withCluster(
      program
        .command('install')
        .description(
          'apply CRDs, roles, webhooks and the pod of both controllers to a cluster (server-side apply), or print them',
        )
        .option('--dry-run', 'print the objects and apply nothing; needs no cluster')
        .addOption(
          new Option(
            '--part <part>',
            'where nodes are in another cluster: control there where machines are, target in the other',
          )
            .choices(['all', 'control', 'target'])
            .default('all'),
        )
        .addOption(
          new Option('--with <name...>', 'what not every cluster can have or wants')
            .choices(OPTIONAL_SECTIONS)
            .default([], 'none'),
        )
        .addOption(
          new Option('--provider <name>', 'whose machine controller')
            .choices(['aws', 'azure', 'gcp', 'local'])
            .default('local'),
        )
        .option('--manager-image <image>', 'image of the machine-controller-manager')
        .option('--controller-image <image>', 'image of the machine controller')
        .option('--replicas <count>', 'pods; one leads, the others stand by', replicasOf, DEFAULT_INSTALL.replicas)
        .option('--force-conflicts', 'take fields over that others have set'),
    ),
  ).action(async (flags: InstallFlags) => {
    const { install } = await import('./run.ts');
    await install(flags, surroundings);
  });
}
