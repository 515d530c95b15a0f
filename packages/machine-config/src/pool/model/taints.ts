import type { Node, Taint } from '@mcm/kube';
import { isTargeted } from '../../conditions/predicates.ts';
import { NodeAnnotations } from '../../constants/annotations.ts';
import { UPDATE_IN_PROGRESS_TAINT } from '../../constants/names.ts';
import type { MachineConfigPool } from '../../kinds/machine-config-pool.ts';

const isOurs = ({ key, effect }: Taint): boolean =>
  key === UPDATE_IN_PROGRESS_TAINT.key && effect === UPDATE_IN_PROGRESS_TAINT.effect;

/** Returns true if the controller reports the taints of a node. */
const isReported = (node: Node, pool: MachineConfigPool): boolean => {
  const annotations = node.metadata.annotations ?? {};
  const inImageMode =
    annotations[NodeAnnotations.CurrentImage] !== undefined && annotations[NodeAnnotations.DesiredImage] !== undefined;
  return isTargeted(node, pool) && !inImageMode;
};

/**
 * Returns the taints that a node must have. A node has the taint for updates until it gets the target.
 * @returns undefined if the taints are correct
 */
export function wantedTaints(node: Node, pool: MachineConfigPool): readonly Taint[] | undefined {
  const taints = node.spec?.taints ?? [];
  const marked = taints.some(isOurs);
  if (isReported(node, pool)) return marked ? taints.filter((taint) => !isOurs(taint)) : undefined;
  return marked ? undefined : [...taints, { ...UPDATE_IN_PROGRESS_TAINT }];
}
