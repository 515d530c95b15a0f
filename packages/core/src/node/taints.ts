import { Taints } from '@mcm/api';
import type { Node, Taint } from '@mcm/kube';

export const isOutOfService = ({ spec }: Node): boolean =>
  spec.taints?.some(({ key }) => key === Taints.OutOfService.key) === true;

export const outOfService = ({ spec }: Node): Taint[] => [...(spec.taints ?? []), { ...Taints.OutOfService }];
