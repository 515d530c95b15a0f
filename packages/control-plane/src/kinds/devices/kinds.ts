import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import { items, look, text } from '../../apimachinery/objects/plain.ts';
import { defineKind, fieldsAt } from '../base/define.ts';
import { AGE, column, NAME } from '../columns/column.ts';
import { sliceWarnings } from '../warnings/index.ts';
import {
  claimTemplateStrategy,
  deviceClassStrategy,
  resourceClaimStrategy,
  resourceSliceStrategy,
} from './strategies.ts';

const group = 'resource.k8s.io';

/** Returns the state of a ResourceClaim as in the column of kubectl. */
function stateOf(
  metadata: { readonly deletionTimestamp?: string | undefined },
  status: Record<string, unknown>,
): string {
  const isDeleted = metadata.deletionTimestamp !== undefined;
  const states = isDeleted ? ['deleted'] : [];
  if (status.allocation === undefined) return isDeleted ? 'deleted' : 'pending';
  states.push('allocated');
  if (items(status, 'reservedFor').length > 0) states.push('reserved');
  return states.join();
}

export const deviceKinds: readonly KindDefinition[] = [
  defineKind({
    group,
    kind: 'DeviceClass',
    plural: 'deviceclasses',
    hasGeneration: true,
    ...deviceClassStrategy,
    columns: [NAME, AGE],
    namespaced: false,
  }),
  defineKind({
    group,
    kind: 'ResourceClaim',
    model: 'ResourceV1ResourceClaim',
    plural: 'resourceclaims',
    subresources: { status: true },
    ...resourceClaimStrategy,
    columns: [
      NAME,
      column('State', (object) => stateOf(object.metadata, look(object, 'status')), {
        doc: 'A summary of the current state (allocated, pending, reserved, etc.).',
      }),
      AGE,
    ],
    namespaced: true,
  }),
  defineKind({
    group,
    kind: 'ResourceClaimTemplate',
    plural: 'resourceclaimtemplates',
    ...claimTemplateStrategy,
    columns: [NAME, AGE],
    namespaced: true,
  }),
  defineKind({
    group,
    kind: 'ResourceSlice',
    plural: 'resourceslices',
    hasGeneration: true,
    selectableFields: fieldsAt('spec.nodeName', 'spec.driver'),
    ...resourceSliceStrategy,
    warnings: sliceWarnings,
    columns: [
      NAME,
      column('Node', (object) => text(look(object, 'spec'), 'nodeName'), { doc: ['V1ResourceSliceSpec', 'nodeName'] }),
      column('Driver', (object) => text(look(object, 'spec'), 'driver'), { doc: ['V1ResourceSliceSpec', 'driver'] }),
      column('Pool', (object) => text(look(object, 'spec', 'pool'), 'name'), { doc: ['V1ResourcePool', 'name'] }),
      AGE,
    ],
    namespaced: false,
  }),
];
