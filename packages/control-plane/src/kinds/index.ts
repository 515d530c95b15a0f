export { systemObjects } from './bootstrap.ts';

import type { KindDefinition } from '../apimachinery/objects/kind.ts';
import { defineReview } from './base/define.ts';
import { CUSTOM_SCALE_COLUMNS, SCALE_COLUMNS } from './columns/scale.ts';
import { deviceKinds } from './devices/kinds.ts';
import { clusterKinds } from './groups/cluster.ts';
import { coreKinds } from './groups/core.ts';
import { workloadKinds } from './groups/workloads.ts';
import { tokenRequestKind } from './token-request.ts';

export const builtinKinds: readonly KindDefinition[] = [
  ...coreKinds,
  ...workloadKinds,
  ...clusterKinds,
  ...deviceKinds,
];

const scaleKind: KindDefinition = {
  ...defineReview({ group: 'autoscaling', kind: 'Scale', plural: 'scales', namespaced: true }),
  columns: SCALE_COLUMNS,
};

/** In a Table, the Scale of a custom kind has the columns of custom kinds. */
export const customScaleKind: KindDefinition = { ...scaleKind, custom: true, columns: CUSTOM_SCALE_COLUMNS };

/** Kinds that have no resource: bodies and responses of subresources, and options of requests. */
export const bodyKinds: readonly KindDefinition[] = [
  defineReview({ group: 'policy', kind: 'Eviction', plural: 'evictions', namespaced: true }),
  scaleKind,
  tokenRequestKind,
];
