import { Taints } from '@mcm/api';
import type { Node, Taint } from '@mcm/kube';

/** Returns true if the node has the taint `out-of-service`. */
export const isOutOfService = ({ spec }: Node): boolean =>
  spec.taints?.some(({ key }) => key === Taints.OutOfService.key) === true;

/** Returns the node's taints with `out-of-service` added. */
export const outOfService = ({ spec }: Node): Taint[] => [...(spec.taints ?? []), { ...Taints.OutOfService }];
