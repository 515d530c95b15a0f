import type { KubeClient, Node } from '@mcm/kube';
import { machineConfigPools } from '../kinds/resources.ts';
import { MembershipError, poolsOfNode } from '../pool/membership.ts';
import { bootConfigName } from '../server/boot-config.ts';
import { referencesOf } from '../server/machines.ts';

/**
 * A node that may turn out to be a machine of a pool over machines waits so long to be told by the update controller:
 * its Machine is bound to it only after it has joined, and no label of the node says whose it is.
 */
const MACHINE_MS = 120_000;

/**
 * Finds the config of a node that nobody gave one at its first boot: that of the pool which selects it.
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
    // Several pools want it: the update controller says so, and nobody may choose.
    if (error instanceof MembershipError) return undefined;
    throw error;
  }
}
