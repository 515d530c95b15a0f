import { type KubeClient, KubeError, realClock } from '@mcm/kube';
import type { OfflineResult } from '@mcm/machine-config';
import type { Command } from 'commander';
import type { ClusterFlags } from '../cluster.ts';
import { inCluster, withCluster, withOutput } from '../cluster-options.ts';
import { UserError } from '../errors.ts';
import { formatted, listFormatted, type OutputFormat } from '../output/format.ts';
import {
  changeLines,
  changesOf,
  inForce,
  type PoolChanges,
  problemsOf,
  type RenderRequest,
  renderedObjects,
  renderedYaml,
  renderPaths,
  storedObjects,
} from './offline.ts';
import { poolLines, poolNameOf, readPools, statusLines } from './pools.ts';

type Say = (line: string) => void;

const onStderr: Say = (line) => void process.stderr.write(`mcm: ${line}\n`);

interface RenderFlags {
  readonly pool?: string;
  readonly templates?: string;
  readonly output: OutputFormat;
}

type DiffFlags = ClusterFlags & RenderFlags & { readonly against?: string };

const TEMPLATES = ['--templates <directory>', 'templates of the nodes (default: those of the controller)'] as const;
const POOL = ['--pool <name>', 'only this pool'] as const;

/** As diff(1): 0 nothing changes, 1 something does, 2 it cannot be told. */
const EXIT = { same: 0, differs: 1, trouble: 2 } as const;

/** What has no effect is told beside what is printed, which may be piped on. */
function warnOf({ warnings }: OfflineResult, warn: Say): void {
  for (const warning of warnings) warn(`warning: ${warning}`);
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new UserError(problems.join('\nmcm: '));
}

const request = (paths: readonly string[], { pool, templates }: RenderFlags) => ({
  paths,
  ...(pool !== undefined && { pool }),
  ...(templates !== undefined && { templates }),
});

/** Adds `config render`, `diff`, `status` and `explain`: what nodes would get, and what they have; all only read. */
export function addConfigCommands(program: Command, say: Say, warn: Say = onStderr): void {
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
    const result = await renderPaths(request(paths, flags));
    warnOf(result, warn);
    for (const line of listFormatted(flags.output, renderedObjects(result), () => renderedYaml(result))) say(line);
    refuse(problemsOf(result));
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
    process.exitCode = EXIT.trouble;
    try {
      const changed = await compare(paths, flags, warn);
      for (const line of formatted(flags.output, changed, changeLines)) say(line);
      process.exitCode = changed.length > 0 ? EXIT.differs : EXIT.same;
    } catch (error) {
      if (!(error instanceof UserError || error instanceof KubeError)) throw error;
      warn(error.message);
    }
  });
}

type AskFlags = ClusterFlags & { readonly output: OutputFormat };

const asking = (command: Command): Command => withOutput(withCluster(command));

function addPoolCommands(config: Command, say: Say): void {
  asking(
    config
      .command('status')
      .description('show how far the pools are; wide adds the nodes that are not at the target')
      .argument('[pool]', 'only this one'),
  ).action((text: string | undefined, flags: AskFlags) =>
    inCluster(flags, 'config status', async (cluster) => {
      const name = text === undefined ? undefined : poolNameOf(text);
      for (const line of formatted(flags.output, await readPools(cluster, realClock.now(), name), statusLines))
        say(line);
    }),
  );
  asking(
    config
      .command('explain')
      .description('say why a pool is where it is, node by node, and what would help')
      .argument('<pool>', 'pool/NAME'),
  ).action((text: string, flags: AskFlags) =>
    inCluster(flags, 'config explain', async (cluster) => {
      const [pool] = await readPools(cluster, realClock.now(), poolNameOf(text));
      if (pool) for (const line of formatted(flags.output, pool, poolLines)) say(line);
    }),
  );
}

async function compare(paths: readonly string[], flags: DiffFlags, warn: Say): Promise<readonly PoolChanges[]> {
  if (flags.against === undefined) {
    return inCluster(flags, 'config diff', ({ client }) => compareWithCluster(client, request(paths, flags), warn));
  }
  const now = await renderPaths(request(paths, flags));
  warnOf(now, warn);
  refuse(problemsOf(now));
  const before = await renderPaths(request([flags.against], flags));
  refuse(problemsOf(before));
  return changesOf(now, (name) => Promise.resolve(before.pools.find((pool) => pool.name === name)?.machineConfig));
}

/** What would change on nodes if the objects of files were applied to a cluster. */
export async function compareWithCluster(
  client: KubeClient,
  about: RenderRequest,
  warn: Say = onStderr,
): Promise<readonly PoolChanges[]> {
  const now = await renderPaths({ ...about, onto: await storedObjects(client) });
  warnOf(now, warn);
  refuse(problemsOf(now));
  return changesOf(now, inForce(client));
}
