import type { Command } from 'commander';
import { type AskFlags, withCluster, withOutput } from '../cluster/cluster-options.ts';
import type { CommandSurroundings } from '../command/surroundings.ts';
import type { DiffFlags, RenderFlags } from './run.ts';

type Say = CommandSurroundings['say'];

const TEMPLATES = ['--templates <directory>', 'templates of the nodes (default: those of the controller)'] as const;
const POOL = ['--pool <name>', 'only this pool'] as const;

/** Adds `config render`, `diff`, `status` and `explain`: what nodes would get, and what they have; all only read. */
export function addConfig(program: Command, say: Say): void {
  const config =
    program.commands.find((command) => command.name() === 'config') ??
    program.command('config').description('what is on nodes: render, compare, ask');
  withOutput(
    config
      .command('render')
      .description('render the pools of files and directories as the controllers would, without a cluster')
      .argument('<paths...>', 'files, or directories of YAML and JSON files')
      .option(...POOL)
      .option(...TEMPLATES),
  ).action(async (paths: string[], flags: RenderFlags) => {
    const { tellRender } = await import('./run.ts');
    await tellRender(paths, flags, say);
  });
  addPoolCommands(config, say);
  withOutput(
    withCluster(
      config
        .command('diff')
        .description('show what would change on nodes if these were applied to the cluster')
        .argument('<paths...>', 'files, or directories of YAML and JSON files')
        .option('--against <path>', 'compare with the render of this file or directory, not with the cluster')
        .option(...POOL)
        .option(...TEMPLATES),
    ),
  ).action(async (paths: string[], flags: DiffFlags) => {
    const { tellDiff } = await import('./run.ts');
    await tellDiff(paths, flags, say);
  });
}

const asking = (command: Command): Command => withOutput(withCluster(command));

function addPoolCommands(config: Command, say: Say): void {
  asking(
    config
      .command('status')
      .description('show how far the pools are; wide adds the nodes that are not at the target')
      .argument('[pool]', 'only this one'),
  ).action(async (pool: string | undefined, flags: AskFlags) => {
    const { tellPools } = await import('./run.ts');
    await tellPools(pool, flags, say);
  });
  asking(
    config
      .command('explain')
      .description('say why a pool is where it is, node by node, and what would help')
      .argument('<pool>', 'pool/NAME'),
  ).action(async (pool: string, flags: AskFlags) => {
    const { tellPool } = await import('./run.ts');
    await tellPool(pool, flags, say);
  });
}
