import type { KubeClient, Node } from '@mcm/kube';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';
import { MembershipError, poolsOfNode } from '../pool/membership.ts';
import { machineConfigPools } from '../resources.ts';

/**
 * The config that a new node of a pool begins with: the target as soon as one node has it, before that the last one that
 * all had. Source: pkg/server/cluster_server.go.
 */
export function firstConfigOf({ spec, status }: MachineConfigPool): string | undefined {
  const [target, completed] = [spec?.configuration?.name, status?.configuration?.name];
  const proven = (status?.updatedMachineCount ?? 0) > 0;
  return (proven ? target : completed || target) || undefined;
}

/** Finds the config of a node that nobody gave one at its first boot: that of the pool which selects it. */
export async function lookUpFirstConfig(
  client: KubeClient,
  node: Node,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { items } = await client.resource(machineConfigPools).list({ signal });
  try {
    const [pool] = poolsOfNode(node, items);
    return pool && firstConfigOf(pool);
  } catch (error) {
    // Several pools want it: the update controller says so, and nobody may choose.
    if (error instanceof MembershipError) return undefined;
    throw error;
  }
}
