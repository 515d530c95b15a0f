import { Taints } from '@mcm/api';
import type { Node, Taint } from '@mcm/kube';

/** Whether somebody has said that the node is down for good. */
export const isOutOfService = ({ spec }: Node): boolean =>
  spec.taints?.some(({ key }) => key === Taints.OutOfService.key) === true;

/** The node's taints with that word among them. */
export const outOfService = ({ spec }: Node): Taint[] => [...(spec.taints ?? []), { ...Taints.OutOfService }];
