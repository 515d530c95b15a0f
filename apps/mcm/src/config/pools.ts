import { machineDeployments, machineSets, machines } from '@mcm/api';
import { ignoreNotFound, isNotFound, type KubeClient, nodes, realClock } from '@mcm/kube';
import {
  CONTROLLER_CONFIG_NAME,
  controllerConfigs,
  explainPool,
  listedFleet,
  type MachineConfigPool,
  type MachineFleet,
  machineConfigPools,
  machineConfigs,
  type PoolExplanation,
  poolSnapshot,
  referencesOf,
} from '@mcm/machine-config';
import type { Cluster } from '../cluster/cluster.ts';
import { UserError } from '../command/errors.ts';
import { controllerLines } from '../controllers/health.ts';
import { columns } from '../output/columns.ts';
import { type PoolReport, stoppedText } from './controller.ts';

/**
 * Parses `pool/NAME`, `machineconfigpool/NAME`, `mcp/NAME` or `NAME`.
 * @throws UserError if the argument contains another kind
 */
export function poolNameOf(text: string): string {
  const [kind, name] = text.includes('/') ? text.split('/', 2) : ['pool', text];
  const known = ['pool', 'pools', 'machineconfigpool', 'machineconfigpools', 'mcp'];
  if (name && known.includes(kind?.toLowerCase().split('.')[0] ?? '')) return name;
  throw new UserError(`"${text}" is not a pool; write pool/NAME or NAME`);
}

/** Reads the machines if a pool updates its nodes by replacing machines. */
async function readFleet({ client }: Cluster, pools: readonly MachineConfigPool[]): Promise<MachineFleet | undefined> {
  if (!pools.some((pool) => referencesOf(pool).length > 0)) return undefined;
  try {
    const [all, sets, deployments] = await Promise.all([
      client.resource(machines).list(),
      client.resource(machineSets).list(),
      client.resource(machineDeployments).list(),
    ]);
    return listedFleet({ machines: all.items, sets: sets.items, deployments: deployments.items });
  } catch (error) {
    if (isNotFound(error)) return listedFleet({ machines: [], sets: [], deployments: [] });
    throw error;
  }
}

/** Selects one pool by its name, several pools by a label selector, or all pools. */
export interface PoolScope {
  readonly name?: string | undefined;
  readonly selector?: string | undefined;
}

/**
 * Explains pools with the decision functions of the update controller.
 * @throws UserError if the named pool does not exist
 */
export async function readPools(
  cluster: Cluster,
  now: Date,
  { name, selector }: PoolScope = {},
): Promise<readonly PoolExplanation[]> {
  const { client, target } = cluster;
  const [{ items: pools }, { items: all }, { items: configs }, controllerConfig] = await Promise.all([
    client.resource(machineConfigPools).list(),
    target.resource(nodes).list(),
    client.resource(machineConfigs).list(),
    ignoreNotFound(client.resource(controllerConfigs).get(CONTROLLER_CONFIG_NAME)),
  ]);
  const asked =
    name === undefined
      ? await selected(client, pools, selector)
      : pools.filter(({ metadata }) => metadata.name === name);
  if (asked.length === 0 && name !== undefined) {
    const others = pools.map(({ metadata }) => metadata.name).join(', ');
    throw new UserError(
      `pool ${name} does not exist; ${others === '' ? 'the cluster has no pool' : `existing pools: ${others}`}`,
    );
  }
  const fleet = await readFleet(cluster, pools);
  const nodesByName = new Map(all.map((node) => [node.metadata.name, node]));
  const configsByName = new Map(configs.map((config) => [config.metadata.name, config]));
  const sources = {
    pools,
    controllerConfig,
    nodesNear: () => all,
    fleet,
    node: (key: string) => nodesByName.get(key),
    machineConfig: (key: string) => configsByName.get(key),
  };
  const snapshotOf = (pool: MachineConfigPool) => poolSnapshot(pool, sources, { now: now.toISOString() });
  return asked.map((pool) => explainPool(snapshotOf(pool), snapshotOf));
}

/** Returns the pools that match a label selector. */
async function selected(
  client: KubeClient,
  pools: readonly MachineConfigPool[],
  labelSelector: string | undefined,
): Promise<readonly MachineConfigPool[]> {
  if (labelSelector === undefined) return pools;
  const { items } = await client.resource(machineConfigPools).list({ labelSelector });
  const names = new Set(items.map(({ metadata }) => metadata.name));
  return pools.filter(({ metadata }) => names.has(metadata.name));
}

/**
 * Returns one line for each pool. If `wide` is true, the result also contains a line for each node that has not reached
 * the target.
 */
export function statusLines(pools: readonly PoolReport[], wide = false, now: Date = realClock.now()): string[] {
  if (pools.length === 0) return ['the cluster has no MachineConfigPool'];
  const stopped = controllerLines(pools[0]?.controllers ?? [], now);
  const head = stopped.length === 0 ? [] : [...stopped, ''];
  // The last cell contains the long name of the target, so in a narrow terminal, only this cell continues on the next
  // line.
  const lines = columns([
    ['POOL', 'NODES', 'UPDATED', 'UNAVAILABLE', 'STATE', 'TARGET'],
    ...pools.map((pool) => [
      ...[pool.name, String(pool.nodes), String(pool.updated), `${pool.unavailable}/${pool.maxUnavailable ?? '?'}`],
      ...[stateOf(pool), pool.target || '-'],
    ]),
  ]);
  if (!wide) return [...head, ...lines];
  return [...head, ...lines.flatMap((line, index) => [line, ...nodeLines(pools[index - 1])])];
}

const nodeLines = (pool: PoolExplanation | undefined): string[] =>
  (pool?.standing ?? []).filter(({ why }) => why !== '').map(({ name, why }) => `  ${name}: ${why}`);

function stateOf(pool: PoolExplanation): string {
  const { paused, blockers, nodes: count, updated, unavailable, target, standing } = pool;
  const [blocker] = blockers;
  if (target === '') return 'without a target';
  if (updated === count && unavailable === 0)
    return blocker === undefined || paused ? 'updated' : `updated; ${blocker}`;
  return [blocker ?? 'updating', ...degradedNodes(standing)].join('; ');
}

const DEGRADED: readonly string[] = ['Degraded', 'Unreconcilable'];

/** Returns the names of degraded nodes for the line of a pool. */
function degradedNodes(standing: PoolExplanation['standing']): readonly string[] {
  const names = standing.filter(({ state }) => DEGRADED.includes(state)).map(({ name }) => name);
  const [first] = names;
  if (first === undefined) return [];
  return [`degraded: ${first}${names.length > 1 ? ` and ${names.length - 1} more` : ''}`];
}

function nextOf(pool: PoolReport): string {
  const { next, target, nodes: count, updated } = pool;
  const stopped = stoppedText(pool);
  if (stopped !== undefined) return `no step, because ${stopped}`;
  if (next.length > 0) return `the controller sets the target of ${next.join(', ')}`;
  if (count === 0) return 'the pool has no nodes to update';
  return target !== '' && updated === count ? 'no node, because every node has the target configuration' : 'no node';
}

export function poolLines(pool: PoolReport, now: Date = realClock.now()): string[] {
  const list = (title: string, items: readonly string[]): string[] =>
    items.length === 0 ? [] : ['', title, ...items.map((item) => `  - ${item}`)];
  const behind = pool.standing.filter(({ why }) => why !== '');
  const stopped = controllerLines(pool.controllers ?? [], now);
  return [
    `machineconfigpool ${pool.name}`,
    `  target  ${pool.target || 'none yet'} (${pool.updateStrategy}${pool.paused ? ', paused' : ''})`,
    ...(pool.completed !== pool.target && pool.completed !== '' ? [`  before  ${pool.completed}`] : []),
    `  nodes   ${pool.nodes}: ${pool.updated} updated, ${pool.unavailable} unavailable, at most ${pool.maxUnavailable ?? '?'} may be unavailable`,
    `  next    ${nextOf(pool)}`,
    ...(stopped.length === 0 ? [] : ['', ...stopped]),
    ...list(
      'Nodes without the target configuration:',
      behind.map(({ name, why }) => `${name}: ${why}`),
    ),
    ...list('Blocked by:', pool.blockers),
    ...list('Hints:', pool.hints),
  ];
}
