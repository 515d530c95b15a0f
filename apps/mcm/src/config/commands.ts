import { KubeError } from '@mcm/kube';
import type { Command } from 'commander';
import type { ClusterFlags } from '../cluster.ts';
import { inCluster, withCluster } from '../cluster-options.ts';
import { UserError } from '../errors.ts';
import { diffLines, inForce, problemsOf, renderedYaml, renderPaths } from './offline.ts';

type Say = (line: string) => void;

interface RenderFlags {
  readonly pool?: string;
  readonly templates?: string;
}

type DiffFlags = ClusterFlags & RenderFlags & { readonly against?: string };

const TEMPLATES = ['--templates <directory>', 'templates of the nodes (default: those of the controller)'] as const;
const POOL = ['--pool <name>', 'only this pool'] as const;

/** As diff(1): 0 nothing changes, 1 something does, 2 it cannot be told. */
const EXIT = { same: 0, differs: 1, trouble: 2 } as const;

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new UserError(problems.join('\nmcm: '));
}

const request = (paths: readonly string[], { pool, templates }: RenderFlags) => ({
  paths,
  ...(pool !== undefined && { pool }),
  ...(templates !== undefined && { templates }),
});

/** Adds `config render` and `config diff`: what nodes would get, without touching them. */
export function addConfigCommands(program: Command, say: Say): void {
  const config =
    program.commands.find((command) => command.name() === 'config') ??
    program.command('config').description('what is on nodes: render, compare, ask');
  config
    .command('render')
    .description('render the pools of files and directories as the controllers would, without a cluster')
    .argument('<paths...>', 'files, or directories of YAML and JSON files')
    .option(...POOL)
    .option(...TEMPLATES)
    .action(async (paths: string[], flags: RenderFlags) => {
      const result = await renderPaths(request(paths, flags));
      const yaml = renderedYaml(result).trimEnd();
      if (yaml !== '') say(yaml);
      refuse(problemsOf(result));
    });
  withCluster(
    config
      .command('diff')
      .description('show what would change on nodes; exit code 0: nothing, 1: something, 2: it cannot be told')
      .argument('<paths...>', 'files, or directories of YAML and JSON files')
      .option('--against <path>', 'compare with the render of this file or directory, not with the cluster')
      .option(...POOL)
      .option(...TEMPLATES),
  ).action(async (paths: string[], flags: DiffFlags) => {
    process.exitCode = EXIT.trouble;
    try {
      const lines = await compare(paths, flags);
      for (const line of lines) say(line);
      process.exitCode = lines.length > 0 ? EXIT.differs : EXIT.same;
    } catch (error) {
      if (!(error instanceof UserError || error instanceof KubeError)) throw error;
      process.stderr.write(`mcm: ${error.message}\n`);
    }
  });
}

async function compare(paths: readonly string[], flags: DiffFlags): Promise<readonly string[]> {
  const now = await renderPaths(request(paths, flags));
  refuse(problemsOf(now));
  if (flags.against === undefined) {
    return inCluster(flags, 'config diff', ({ client }) => diffLines(now, inForce(client)));
  }
  const before = await renderPaths(request([flags.against], flags));
  refuse(problemsOf(before));
  return diffLines(now, (name) => Promise.resolve(before.pools.find((pool) => pool.name === name)?.machineConfig));
}
