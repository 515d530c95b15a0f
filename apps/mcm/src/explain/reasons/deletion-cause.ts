import { Annotations, type Machine, type MachineSet, machineSets, TRIGGERED_DELETION_PRIORITY, TRUE } from '@mcm/api';
import { causeIn, DeletionCauses, interruptionOf } from '@mcm/core';
import { type EventObject, events, ignoreNotFound, type KubeClient } from '@mcm/kube';
import { ifAllowed } from '../../cluster/allowed.ts';

interface Target {
  readonly client: KubeClient;
  readonly namespace: string;
}

const BY_HAND = 'manual (no event or annotation of a controller contains another cause; events expire)';

/** The cause of a deletion that the machine controller itself started, because the cloud interrupts the VM. */
const BY_CLOUD = 'interruption by the cloud';

/** Returns the cause of a machine's deletion, from an event of its MachineSet or from the machine. */
export async function deletionCauseOf(
  { client, namespace }: Target,
  machine: Machine,
  unread: Set<string>,
): Promise<string | undefined> {
  const { deletionTimestamp, name, ownerReferences, annotations = {} } = machine.metadata;
  if (deletionTimestamp === undefined) return undefined;
  if (annotations[Annotations.DeletedForHealth] === TRUE) return DeletionCauses.Unhealthy;
  const interruption = interruptionOf(machine) && BY_CLOUD;
  const owner = ownerReferences?.find(({ controller }) => controller);
  if (!owner) return interruption ?? BY_HAND;
  const fieldSelector = `involvedObject.kind=MachineSet,involvedObject.name=${owner.name},reason=SuccessfulDelete`;
  const said = await ifAllowed(client.resource<EventObject>(events, namespace).list({ fieldSelector }), unread);
  const [cause] = (said?.items ?? []).flatMap(({ message }) => causeIn(message ?? '', name) ?? []);
  if (cause !== undefined) return cause;
  if (interruption !== undefined) return interruption;
  if (Number(annotations[Annotations.Priority]) === TRIGGERED_DELETION_PRIORITY) return DeletionCauses.Autoscaler;
  const set = await ifAllowed(
    ignoreNotFound(client.resource<MachineSet>(machineSets, namespace).get(owner.name)),
    unread,
  );
  if (said === null || set === null) return undefined;
  return set?.metadata.uid === owner.uid && !set.metadata.deletionTimestamp ? BY_HAND : DeletionCauses.OwnerDeleted;
}
