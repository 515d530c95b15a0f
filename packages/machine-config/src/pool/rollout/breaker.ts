import { counted } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { conditionOf, type WantedCondition } from '../../conditions/conditions.ts';
import { isDegraded, isReady, isTargeted, isUpdated, targetOf } from '../../conditions/predicates.ts';
import { byName } from '../../config/order.ts';
import { PoolConditions } from '../../constants/conditions.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';

/** Returns true if a node with the target is Degraded, or is updated but not Ready. */
const isHarmed = (node: Node, pool: MachineConfigPool): boolean =>
  isTargeted(node, pool) &&
  (isDegraded(node) || (isUpdated(node, pool) && !node.spec?.unschedulable && !isReady(node)));

/** The decision of the circuit breaker of a pool. */
export interface BreakerVerdict {
  readonly halted: boolean;
  readonly condition?: WantedCondition | undefined;
}

/**
 * Stops a rollout when the limit of Degraded nodes with the target is reached, until the nodes recover or the target
 * changes.
 * @param limit number of nodes, where 0 means no limit
 */
export function evaluateRollout(pool: MachineConfigPool, nodes: readonly Node[], limit: number): BreakerVerdict {
  const type = PoolConditions.RolloutHalted;
  const degradedNodes = limit > 0 ? byName(nodes.filter((node) => isHarmed(node, pool))) : [];
  if (limit > 0 && degradedNodes.length >= limit) {
    const names = degradedNodes.slice(0, 5).map(({ metadata }) => metadata.name);
    const more = degradedNodes.length > 5 ? ` and ${degradedNodes.length - 5} more` : '';
    const message =
      `${counted(degradedNodes.length, 'node')} became Degraded with MachineConfig ${targetOf(pool)}: ${names.join(', ')}${more}. ` +
      'No further node gets the configuration until the nodes recover or a user reverts the change';
    return { halted: true, condition: { type, status: 'True', reason: 'NodesDegraded', message } };
  }
  const known = conditionOf(pool.status?.conditions, type);
  return { halted: false, condition: known ? { type, status: 'False' as const } : undefined };
}
