import { Labels, NodeConditions } from '@mcm/api';
import type { Node } from '@mcm/kube';
import { isInstance } from '../../node/instance.ts';
import type { MachineObservation } from '../model/observation.ts';
import { act, type Plan } from '../model/plan.ts';

/**
 * Returns true if mcm cordoned the Node for a deletion or an orphan collection, and no in-place update drains the Node.
 * - Only mcm writes the condition `Terminating`, and mcm never cordons a Node without this condition.
 * - A Running machine can have such a Node after a restore of the API server, or if a cordon request arrived late.
 */
const isCordonLeft = ({ metadata: { labels }, status }: Node): boolean =>
  labels?.[Labels.SelectedForUpdate] === undefined &&
  status?.conditions?.some(({ type }) => type === NodeConditions.Terminating) === true;

/**
 * Plans the Node of an adopted VM. An earlier deletion or orphan collection may have cordoned this Node.
 * - A user can create a Machine with `spec.providerID`. A machine without a Node name gets the Node with the provider
 *   ID.
 */
export function planAdoptedNode(o: MachineObservation): Plan | undefined {
  const { machine, node } = o;
  const { metadata, spec, status } = machine;
  if (!node || metadata.deletionTimestamp || status?.currentStatus?.phase === 'Failed') return undefined;
  if (!isInstance(spec.providerID, node.spec.providerID)) return undefined;
  if (isCordonLeft(node)) return act('the Node of the adopted VM is cordoned', { do: 'uncordon' });
  if (metadata.labels?.node !== undefined) return undefined;
  const { name } = node.metadata;
  return act(`Node ${name} has the provider ID of the machine`, { do: 'labelNode', nodeName: name });
}
