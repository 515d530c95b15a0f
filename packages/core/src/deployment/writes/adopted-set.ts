import { Labels, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { templateHash } from '../../rollout/template-hash.ts';

/** The next change that an adopted set needs next to the other sets of its deployment. */
export type HashStep =
  | { readonly kind: 'writeSet'; readonly set: MachineSet }
  | { readonly kind: 'labelMachines'; readonly machines: readonly Machine[]; readonly hash: string };

/**
 * Another program created the set, so it selects by the labels of the deployment and would claim the machines of the
 * other sets. It gets the template hash in three steps (docs/compatibility/rules-deployments.md §2.6), and each pass
 * finds the next step from the objects: in the template, so that new machines have it; on all machines; and last in the
 * selector, which then loses no machine. The original blocks a worker for up to two minutes here.
 *
 * @returns undefined when the set has its hash.
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
