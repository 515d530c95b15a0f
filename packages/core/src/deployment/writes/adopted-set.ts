import { Labels, type Machine, type MachineDeployment, type MachineSet } from '@mcm/api';
import { templateHash } from '../../rollout/template-hash.ts';

/** What an adopted set still needs before it can live beside its siblings; one step at a time. */
export type HashStep =
  | { readonly kind: 'writeSet'; readonly set: MachineSet }
  | { readonly kind: 'labelMachines'; readonly machines: readonly Machine[]; readonly hash: string };

/**
 * A set that was made elsewhere selects by the deployment's own labels, so it would claim its siblings' machines. It
 * gets the template hash in three steps (docs/compatibility/rules-deployments.md §2.6), each found again from the objects: into the template, so that new
 * machines have it; onto all machines; and last into the selector, which then loses none of them. The original
 * blocks a worker for up to two minutes here.
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
