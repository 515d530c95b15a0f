import type { KubeClient, Node } from '@mcm/kube';
import { MembershipError, poolsOfNode } from '../pool/membership.ts';
import { machineConfigPools } from '../resources.ts';
import { bootConfigName } from '../server/boot-config.ts';

/** Finds the config of a node that nobody gave one at its first boot: that of the pool which selects it. */
export async function lookUpFirstConfig(
  client: KubeClient,
  node: Node,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { items } = await client.resource(machineConfigPools).list({ signal });
  try {
    const [pool] = poolsOfNode(node, items);
    return pool && bootConfigName(pool);
  } catch (error) {
    // Several pools want it: the update controller says so, and nobody may choose.
    if (error instanceof MembershipError) return undefined;
    throw error;
  }
}
