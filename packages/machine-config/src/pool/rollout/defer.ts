import type { Node, Pod } from '@mcm/kube';
import { ConfigEvents } from '../../constants/conditions.ts';
import { MASTER_POOL } from '../../constants/names.ts';
import type { CandidateFilter } from '../model/snapshot.ts';

/**
 * Defers the update of the control plane node that runs the operator, until all other nodes are updated. The update of
 * this node restarts the operator.
 */
export const deferOperatorNode =
  (operators: readonly Pod[]): CandidateFilter =>
  (pool, candidates) => {
    const [operator] = operators;
    if (pool.metadata.name !== MASTER_POOL || candidates.length < 2 || operators.length !== 1 || !operator) return [];
    return candidates.filter(({ metadata }) => metadata.name === operator.spec.nodeName).map(deferred);
  };

const deferred = (node: Node) => ({
  node,
  event: {
    type: 'Normal' as const,
    reason: ConfigEvents.DeferringOperatorNodeUpdate,
    message: `Deferring update of machine config operator node ${node.metadata.name}`,
  },
});
