import { Labels, type Machine } from '@mcm/api';
import type { Node } from '@mcm/kube';

const scheme = (id: string): string => id.slice(0, id.indexOf(':'));
const lastSegment = (id: string): string => id.slice(id.lastIndexOf('/') + 1).toLowerCase();

/**
 * Whether two provider ids may name one VM. Drivers and cloud controllers write them differently (AWS: region or zone;
 * Azure: short or full resource path, in either case), but agree on the scheme and the last part. Ids of different
 * schemes, or an absent one, contradict nothing.
 */
export function sameInstance(a: string | undefined, b: string | undefined): boolean {
  if (!a || !b || a === b || scheme(a) !== scheme(b)) return true;
  return lastSegment(a) === lastSegment(b);
}

/** Whether the Node is that of the machine's VM, and not of an earlier or another VM that had the same name. */
export const isNodeOf = (machine: Machine, node: Node): boolean =>
  sameInstance(machine.spec.providerID, node.spec.providerID);

/** Whether the Node points back to the machine. */
export const pointsTo = (node: Node, machine: Machine): boolean =>
  node.metadata.labels?.[Labels.MachineName] === machine.metadata.name;
