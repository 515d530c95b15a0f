import type { Node } from '@mcm/kube';
import { conditionOf, type WantedCondition } from '../../conditions/conditions.ts';
import { isDegraded, isReady, isTargeted, isUpdated, targetOf } from '../../conditions/predicates.ts';
import { byName } from '../../config/order.ts';
import { PoolConditions } from '../../constants/conditions.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';

/** Whether a node was told the target and is worse for it: the daemon cannot go on, or it is not Ready on it. */
const suffers = (node: Node, pool: MachineConfigPool): boolean =>
  isTargeted(node, pool) &&
  (isDegraded(node) || (isUpdated(node, pool) && !node.spec?.unschedulable && !isReady(node)));

/** What the breaker says. */
export interface BreakerVerdict {
  readonly halted: boolean;
  /** Absent: the pool has nothing to say about it, and never had. */
  readonly condition?: WantedCondition;
}

/**
 * Halts a rollout when so many of the nodes that were told the target degrade. It ends when they recover, or when the
 * target changes, which is how a bad config is undone.
 * @param limit nodes; 0: never
 */
export function judgeRollout(pool: MachineConfigPool, nodes: readonly Node[], limit: number): BreakerVerdict {
  const type = PoolConditions.RolloutHalted;
  const suffering = limit > 0 ? byName(nodes.filter((node) => suffers(node, pool))) : [];
  if (limit > 0 && suffering.length >= limit) {
    const names = suffering.slice(0, 5).map(({ metadata }) => metadata.name);
    const more = suffering.length > 5 ? ` and ${suffering.length - 5} more` : '';
    const message =
      `${suffering.length} nodes degraded on MachineConfig ${targetOf(pool)}: ${names.join(', ')}${more}; ` +
      'no further node is told it until they recover or the change is undone';
    return { halted: true, condition: { type, status: 'True', reason: 'NodesDegraded', message } };
  }
  const known = conditionOf(pool.status?.conditions, type);
  return { halted: false, ...(known && { condition: { type, status: 'False' as const } }) };
}
