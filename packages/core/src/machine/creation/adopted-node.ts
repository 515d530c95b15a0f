import { type Machine, NodeConditions } from '@mcm/api';
import { isInstance } from '../../node/instance.ts';
import type { MachineObservation } from '../model/observation.ts';
import { act, type Plan } from '../model/plan.ts';

/**
 * Returns true if the machine has not joined yet. mcm uncordons the Node of an adopted VM only before the join, because
 * a later cordon comes from another client.
 */
function joins({ status }: Machine): boolean {
  const phase = status?.currentStatus?.phase;
  return phase === undefined || phase === 'Pending' || phase === 'CrashLoopBackOff';
}

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
  if (joins(machine) && node.status?.conditions?.some(({ type }) => type === NodeConditions.Terminating))
    return act('the Node of the adopted VM is cordoned', { do: 'uncordon' });
  if (metadata.labels?.node !== undefined) return undefined;
  const { name } = node.metadata;
  return act(`Node ${name} has the provider ID of the machine`, { do: 'labelNode', nodeName: name });
}
