import type { Node, Taint } from '@mcm/kube';
import { isTargeted } from '../../conditions/predicates.ts';
import { NodeAnnotations } from '../../constants/annotations.ts';
import { UPDATE_IN_PROGRESS_TAINT } from '../../constants/names.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';

const isOurs = ({ key, effect }: Taint): boolean =>
  key === UPDATE_IN_PROGRESS_TAINT.key && effect === UPDATE_IN_PROGRESS_TAINT.effect;

/** Whether a node is where the pool wants it, as far as it was told: a node that leaves image mode is not. */
const isTold = (node: Node, pool: MachineConfigPool): boolean => {
  const annotations = node.metadata.annotations ?? {};
  const inImageMode =
    annotations[NodeAnnotations.CurrentImage] !== undefined && annotations[NodeAnnotations.DesiredImage] !== undefined;
  return isTargeted(node, pool) && !inImageMode;
};

/**
 * The taints that a node should have: marked as long as it waits to be told the target. The mark goes when the node is
 * told, not when it has finished.
 * @returns undefined if they are right
 */
export function wantedTaints(node: Node, pool: MachineConfigPool): readonly Taint[] | undefined {
  const taints = node.spec?.taints ?? [];
  const marked = taints.some(isOurs);
  if (isTold(node, pool)) return marked ? taints.filter((taint) => !isOurs(taint)) : undefined;
  return marked ? undefined : [...taints, { ...UPDATE_IN_PROGRESS_TAINT }];
}
