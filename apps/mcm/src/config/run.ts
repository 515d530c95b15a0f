import { type KubeClient, KubeError, realClock } from '@mcm/kube';
import type { OfflineResult } from '@mcm/machine-config';
import { type Cluster, type ClusterFlags, inCluster } from '../cluster/cluster.ts';
import type { AskFlags } from '../cluster/cluster-options.ts';
import { type Following, reportOrFollow, withoutDurations } from '../cluster/follow.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { pathsOf } from '../files/option.ts';
import { formatted, listFormatted, type OutputFormat, printProblem } from '../output/format.ts';
import { type PoolReport, readConfigController, withControllers } from './controller.ts';
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
import { type PoolScope, poolLines, poolNameOf, readPools, statusLines } from './pools.ts';

type Say = CommandEnvironment['say'];

const onStderr: Say = (line) => printProblem(line);

export interface RenderFlags {
  readonly pool?: string;
  readonly templates?: string;
  readonly recursive?: boolean;
  readonly filename?: readonly string[];
  readonly output: OutputFormat;
}

export type DiffFlags = ClusterFlags & RenderFlags & { readonly against?: string };

export type PoolsFlags = AskFlags & { readonly selector?: string; readonly watch?: true };

const EXIT = { same: 0, differs: 1, problem: 2 } as const;

/** Prints warnings to standard error, because another program may read standard output. */
function warnOf({ warnings }: OfflineResult, warn: Say): void {
  for (const warning of warnings) warn(`warning: ${warning}`);
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new UserError(problems.join('\nmcm: '));
}

const request = (paths: readonly string[], { pool, templates, recursive = false }: RenderFlags) => ({
  paths,
  recursive,
  pool,
  templates,
});

export async function reportRender(words: readonly string[], flags: RenderFlags, say: Say): Promise<void> {
  const result = await renderPaths(request(pathsOf(words, flags.filename), flags));
  warnOf(result, onStderr);
  for (const line of listFormatted(flags.output, renderedObjects(result), () => renderedYaml(result))) say(line);
  refuse(problemsOf(result));
}

export async function reportDiff(words: readonly string[], flags: DiffFlags, say: Say): Promise<void> {
  process.exitCode = EXIT.problem;
  const paths = pathsOf(words, flags.filename);
  try {
    const changed = await compare(paths, flags, onStderr);
    for (const line of formatted(flags.output, changed, changeLines)) say(line);
    process.exitCode = changed.length > 0 ? EXIT.differs : EXIT.same;
  } catch (error) {
    if (!(error instanceof UserError || error instanceof KubeError)) throw error;
    onStderr(error.message);
  }
}

export const reportPools = (text: string | undefined, flags: PoolsFlags, telling: Following): Promise<void> =>
  inCluster(flags, 'config status', (cluster) => {
    const name = text === undefined ? undefined : poolNameOf(text);
    const read = () => readReports(cluster, { name, selector: flags.selector });
    const isText = flags.output === 'text' || flags.output === 'wide';
    return reportOrFollow(telling, flags, {
      read,
      text: (pools, wide) => statusLines(pools, wide),
      // The output states how long a controller has been stopped. The duration differs at each read, so the comparison
      // ignores durations.
      watched: (pools) => withoutDurations(isText ? statusLines(pools, flags.output === 'wide') : pools),
    });
  });

export const reportPool = (text: string, flags: AskFlags, say: Say): Promise<void> =>
  inCluster(flags, 'config explain', async (cluster) => {
    const [pool] = await readReports(cluster, { name: poolNameOf(text) });
    if (pool) for (const line of formatted(flags.output, pool, (one) => poolLines(one))) say(line);
  });

async function readReports(cluster: Cluster, scope: PoolScope): Promise<readonly PoolReport[]> {
  const [pools, controllers] = await Promise.all([
    readPools(cluster, realClock.now(), scope),
    readConfigController(cluster, realClock),
  ]);
  return pools.map((pool) => withControllers(pool, controllers));
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

/** Returns the changes that the nodes of a cluster would get if a user applied the files. */
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
