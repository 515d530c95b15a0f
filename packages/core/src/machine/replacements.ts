import { Labels, type Machine } from '@mcm/api';

/**
 * What limits replacements together: the MachineDeployment by the label `name`, else the owning set, else the
 * namespace. (In the original machines without the label are never limited.)
 */
export const replacementGroup = (machine: Machine): string => {
  const { labels, ownerReferences, namespace = '' } = machine.metadata;
  const deployment = labels?.[Labels.DeploymentName];
  if (deployment) return `${namespace}/deployment/${deployment}`;
  const owner = ownerReferences?.find((reference) => reference.controller);
  return owner ? `${namespace}/owner/${owner.uid}` : `${namespace}/machine/${machine.metadata.name}`;
};

/**
 * Machines of a group that are being replaced right now: every one that is neither Running nor Unknown, unless it is
 * preserved; a Terminating one counts twice. Source: machine_util.go, isMarkableForFailure.
 */
export function countReplacements(machines: Iterable<Machine>): number {
  let count = 0;
  for (const { status } of machines) {
    const phase = status?.currentStatus?.phase;
    if (phase === 'Running' || phase === 'Unknown') continue;
    if (!status?.currentStatus?.preserveExpiryTime) count++;
    if (phase === 'Terminating') count++;
  }
  return count;
}

/** Most replacements at once for a machine to be marked Failed beside them. */
export const MAX_REPLACEMENTS = 1;
