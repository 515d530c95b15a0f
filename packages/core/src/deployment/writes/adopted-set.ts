import { Labels, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { templateHash } from '../../rollout/template-hash.ts';

export type HashStep =
  | { readonly kind: 'writeSet'; readonly set: MachineSet }
  | { readonly kind: 'labelMachines'; readonly machines: readonly Machine[]; readonly hash: string };

/**
 * Returns the next step that gives an adopted set its template hash (docs/compatibility/rules-deployments.md §2.6). An
 * adopted set is a MachineSet that another program created. The selector of an adopted set contains only the labels of
 * the deployment, so it matches machines of other sets.
 * 1. The template of the set gets the hash, for new machines.
 * 2. All machines of the set get the hash.
 * 3. The selector of the set gets the hash.
 *
 * mcm performs one step in each reconcile. The original performs all steps at once, and blocks a worker for up to two
 * minutes.
 * @returns undefined if the set has its hash
 */
export function nextHashStep(
  deployment: MachineDeployment,
  set: MachineSet,
  machines: readonly Machine[],
): HashStep | undefined {
  if (set.spec.selector.matchLabels?.[Labels.TemplateHash]) return undefined;
  const { template, selector } = set.spec;
  const inTemplate = template.metadata?.labels?.[Labels.TemplateHash];
  const hash = inTemplate || templateHash(template, deployment.status?.collisionCount);
  if (!inTemplate) {
    const labels = { ...template.metadata?.labels, [Labels.TemplateHash]: hash };
    const labelled = { ...template, metadata: { ...template.metadata, labels } };
    return { kind: 'writeSet', set: { ...set, spec: { ...set.spec, template: labelled } } };
  }
  const unlabelled = machines.filter((machine) => machine.metadata.labels?.[Labels.TemplateHash] !== hash);
  if (unlabelled.length > 0) return { kind: 'labelMachines', machines: unlabelled, hash };
  return {
    kind: 'writeSet',
    set: {
      ...set,
      metadata: { ...set.metadata, labels: { ...set.metadata.labels, [Labels.TemplateHash]: hash } },
      spec: {
        ...set.spec,
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [Labels.TemplateHash]: hash } },
      },
    },
  };
}
