import type { MachineSpec } from '@mcm/api';
import { UPDATE_IN_PROGRESS_TAINT } from '../constants/names.ts';
import { PREFIX } from '../kinds/group.ts';
import type { PoolRef } from './fleet.ts';

const FIELD = 'spec.template.spec.nodeTemplate';

/**
 * Finds machine templates with labels, annotations or taints that only the machine-config-controller may write. mcm
 * would copy labels, annotations and taints of a template to all nodes at once, without a rollout.
 */
export const claimedTemplates = (refs: readonly PoolRef[]): readonly string[] =>
  refs.flatMap(({ ref, found }) => {
    const [set] = found?.sets ?? [];
    const template = (ref.kind === 'MachineDeployment' ? found?.deployment : set)?.spec.template?.spec?.nodeTemplate;
    const fields = template ? claimedFields(template) : [];
    if (fields.length === 0) return [];
    return [
      `${ref.kind} ${ref.namespace}/${ref.name} sets keys on its nodes that only machine configs may set: ${fields.join(', ')}; ` +
        `remove these keys from ${FIELD}`,
    ];
  });

function claimedFields({ metadata, spec }: NonNullable<MachineSpec['nodeTemplate']>): readonly string[] {
  const keys = (field: 'annotations' | 'labels') =>
    Object.keys(metadata?.[field] ?? {})
      .filter((key) => key.startsWith(PREFIX))
      .map((key) => `metadata.${field}[${key}]`);
  const taints = (spec?.taints ?? []).filter(({ key }) => key === UPDATE_IN_PROGRESS_TAINT.key);
  return [...keys('annotations'), ...keys('labels'), ...taints.map(({ key }) => `spec.taints with key ${key}`)];
}
