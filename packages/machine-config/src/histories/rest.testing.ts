import { formatTime } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { conditionOf } from '../conditions/conditions.ts';
import { annotationOf, isDone, isUpdated, targetOf } from '../conditions/predicates.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { controllerConfigs, machineConfigs } from '../kinds/resources.ts';
import { planPools } from '../pool/arbiter.ts';
import { explainPool } from '../pool/explain.ts';
import { MembershipError, poolsOfNode } from '../pool/membership.ts';
import type { PoolSnapshot } from '../pool/model/snapshot.ts';
import { poolSnapshot } from '../pool/snapshot.ts';
import { planRender } from '../render/plan.ts';
import type { PoolsWorld } from './pools.testing.ts';

const { CurrentConfig, DesiredConfig } = NodeAnnotations;

export async function unnecessaryWrites(world: PoolsWorld): Promise<readonly string[]> {
  const before = await versions(world);
  world.world.writes.length = 0;
  await world.world.clock.advance(15 * 60_000);
  const written = world.world.writes.map((one) => `writes without a change: ${one}`);
  const moved = (await versions(world)) === before ? [] : ['objects changed in a quiet world'];
  return [...new Set(written), ...(written.length > 0 ? [] : moved), ...(await undone(world))];
}

async function undone(world: PoolsWorld): Promise<readonly string[]> {
  const pools = await world.pools();
  const all = await world.nodes();
  const { items } = await world.client.resource(machineConfigs).list();
  const [controllerConfig] = (await world.client.resource(controllerConfigs).list()).items;
  const machineConfig = (name: string) => items.find(({ metadata }) => metadata.name === name);
  const now = formatTime(world.world.clock.now());
  const { haltAt } = world.options;
  const snapshotOf = (pool: MachineConfigPool): PoolSnapshot =>
    poolSnapshot(
      pool,
      {
        pools,
        controllerConfig,
        machineConfig,
        nodesNear: () => all,
        node: (name) => all.find(({ metadata }) => metadata.name === name),
      },
      { now, ...(haltAt !== undefined && { haltAt }) },
    );
  return pools.flatMap((pool) => {
    const { name } = pool.metadata;
    const plans = planPools(snapshotOf(pool), snapshotOf).map(({ plan }) => plan);
    const render = planRender({
      pool,
      configs: items,
      machineConfig,
      controllerConfig,
      identity: { version: 'v1', hash: 'h' },
      kubeletConfigs: [],
      containerRuntimeConfigs: [],
    });
    const { create, update, configuration, condition } = render;
    const left = { create, update, configuration, condition };
    const standing = explainPool(snapshotOf(pool), snapshotOf).standing;
    return [
      ...plans.flatMap((plan) => plan.nodes.map((write) => `${name}: left to do for ${write.name}`)),
      ...plans.flatMap(({ status }) =>
        status ? [`${name}: the status is outdated: ${differences(pool.status ?? {}, status)}`] : [],
      ),
      ...Object.entries(left).flatMap(([what, value]) => (value ? [`${name}: ${what} is left to be rendered`] : [])),
      ...standing.flatMap((one) =>
        one.updated || one.why !== '' ? [] : [`${name}: no reason why ${one.name} does not have the target`],
      ),
      ...(conditionOf(pool.status?.conditions, 'Updated')?.status === 'True' && standing.some(({ updated }) => !updated)
        ? [`${name}: Updated although nodes are not`]
        : []),
    ];
  });
}

export async function notRecovered(world: PoolsWorld): Promise<readonly string[]> {
  const pools = await world.pools();
  const sick = (await world.nodes()).flatMap((node) => {
    const pool = poolOf(node, pools);
    const said = `${annotationOf(node, CurrentConfig)} of ${annotationOf(node, DesiredConfig)}`;
    const { name } = node.metadata;
    if (!pool) return [`${name} has no pool`];
    if (!isDone(node) || !isUpdated(node, pool)) return [`${name} has ${said}, not ${targetOf(pool)}`];
    return node.spec?.unschedulable === true ? [`${name} is cordoned`] : [];
  });
  const reported = pools.flatMap(({ metadata, status }) =>
    conditionOf(status?.conditions, 'Updated')?.status === 'True' ? [] : [`${metadata.name} is not Updated`],
  );
  return [...sick, ...reported];
}

async function versions({ client, nodes, pools }: PoolsWorld): Promise<string> {
  const all = [...(await nodes()), ...(await pools()), ...(await client.resource(machineConfigs).list()).items];
  return JSON.stringify(all.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
}

function poolOf(node: Node, pools: readonly MachineConfigPool[]): MachineConfigPool | undefined {
  try {
    return poolsOfNode(node, pools)[0];
  } catch (error) {
    if (error instanceof MembershipError) return undefined;
    throw error;
  }
}

const differences = (was: object, wanted: object): string =>
  JSON.stringify(
    Object.entries(wanted).flatMap(([key, value]) => {
      const old = (was as Record<string, unknown>)[key];
      return JSON.stringify(old) === JSON.stringify(value) ? [] : [[key, old, value]];
    }),
  );
