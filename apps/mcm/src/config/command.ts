import type { Command } from 'commander';
import {
  type AskFlags,
  objectText,
  withCluster,
  withOutput,
  withSelector,
  withWatch,
} from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { RECURSIVE, repeated } from '../files/option.ts';
import type { DiffFlags, PoolsFlags, RenderFlags } from './run.ts';

const TEMPLATES = [
  '--templates <directory>',
  'directory with node templates (default: the templates of the controller)',
] as const;
const PATHS = ['[paths...]', 'files, or directories of YAML and JSON files, or - for standard input'] as const;
const FILENAME = ['-f, --filename <path>', 'path of a file or directory, as in kubectl; repeatable'] as const;
const POOL = ['--pool <name>', 'only this pool'] as const;

export function addConfig(program: Command, environment: CommandEnvironment): void {
  const { say } = environment;
  const config =
    program.commands.find((command) => command.name() === 'config') ??
    program.command('config').description('render, compare and explain the configuration of nodes');
  withOutput(
    config
      .command('render')
      .description('render the pools in files and directories as the controllers do; needs no cluster')
      .argument(...PATHS)
      .option(...FILENAME, repeated)
      .option(...RECURSIVE)
      .option(...POOL)
      .option(...TEMPLATES),
  ).action(async (paths: string[], flags: RenderFlags) => {
    const { reportRender } = await import('./run.ts');
    await reportRender(paths, flags, say);
  });
  addPoolCommands(config, environment);
  withOutput(
    withCluster(
      config
        .command('diff')
        .description('show how nodes would change if you apply the given objects')
        .argument(...PATHS)
        .option(...FILENAME, repeated)
        .option('--against <path>', 'compare with the given file or directory instead of the cluster')
        .option(...RECURSIVE)
        .option(...POOL)
        .option(...TEMPLATES),
    ),
  ).action(async (paths: string[], flags: DiffFlags) => {
    const { reportDiff } = await import('./run.ts');
    await reportDiff(paths, flags, say);
  });
}

const asking = (command: Command): Command => withOutput(withCluster(command));

function addPoolCommands(config: Command, environment: CommandEnvironment): void {
  const status = config
    .command('status')
    .description('show the progress of pools; -o wide adds the nodes that do not have the target configuration yet')
    .argument('[pool...]', 'only this pool');
  asking(withSelector(withWatch(status), 'pools')).action(async (pool: string[], flags: PoolsFlags) => {
    if (pool.length > 0 && flags.selector !== undefined)
      throw new UserError('a name cannot be used together with --selector');
    const { reportPools } = await import('./run.ts');
    await reportPools(pool.length === 0 ? undefined : objectText(pool), flags, environment);
  });
  asking(
    config
      .command('explain')
      .description('explain the state of a pool and of each node, with hints')
      .argument('<pool...>', 'pool/NAME'),
  ).action(async (pool: string[], flags: AskFlags) => {
    const { reportPool } = await import('./run.ts');
    await reportPool(objectText(pool), flags, environment.say);
  });
}
