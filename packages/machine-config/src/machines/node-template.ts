import type { MachineSpec } from '@mcm/api';
import { UPDATE_IN_PROGRESS_TAINT } from '../constants/names.ts';
import { PREFIX } from '../kinds/group.ts';
import type { PoolMembers } from './members.ts';

const FIELD = 'spec.template.spec.nodeTemplate';

/**
 * Templates of a pool's machines that give their nodes keys of machine configs. MCM would write them to every node again
 * and again, and so tell all at once what only a rollout may tell: the pool waits until they are gone.
 * @returns one sentence for each template, naming object, field and cure
 */
export const claimedTemplates = (refs: PoolMembers['refs']): readonly string[] =>
  refs.flatMap(({ ref, found }) => {
    const [set] = found?.sets ?? [];
    const template = (ref.kind === 'MachineDeployment' ? found?.deployment : set)?.spec.template?.spec?.nodeTemplate;
    const fields = template ? claimedFields(template) : [];
    if (fields.length === 0) return [];
    return [
      `${ref.kind} ${ref.namespace}/${ref.name} gives its nodes what only machine configs may: ${fields.join(', ')}; ` +
        `take it out of ${FIELD}`,
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
