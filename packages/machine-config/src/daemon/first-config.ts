import type { KubeClient, Node } from '@mcm/kube';
import { machineConfigPools } from '../kinds/resources.ts';
import { MembershipError, poolsOfNode } from '../pool/membership.ts';
import { bootConfigName } from '../server/boot-config.ts';
import { referencesOf } from '../server/machines.ts';

/**
 * A Machine gets the name of its node only after the join. If a pool refers to machines, a new node therefore waits for
 * this time.
 */
const MACHINE_MS = 120_000;

/**
 * Finds the config of the pool that selects the node, for a node without a config at its first boot.
 * @param now milliseconds
 */
export async function lookUpFirstConfig(
  client: KubeClient,
  node: Node,
  now: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { items } = await client.resource(machineConfigPools).list({ signal });
  const isNew = now - Date.parse(node.metadata.creationTimestamp) < MACHINE_MS;
  if (isNew && items.some((pool) => referencesOf(pool).length > 0)) return undefined;
  try {
    const [pool] = poolsOfNode(node, items);
    return pool && bootConfigName(pool);
  } catch (error) {
    // If several pools contain the node, the update controller reports the conflict, and the daemon selects no pool.
    if (error instanceof MembershipError) return undefined;
    throw error;
  }
}
