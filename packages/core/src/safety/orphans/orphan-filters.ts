import type { EventReason, MachineClass } from '@mcm/api';
import type { EventRecorder } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import type { KeptVms } from '../../evidence/kept-vms.ts';
import { InstanceSet } from '../../node/instance.ts';
import type { Listing } from './listings.ts';
import { isForeign } from './orphan-vms.ts';

export interface ForeignFilterOptions {
  readonly recorder: EventRecorder<EventReason>;
  readonly owner?: (() => string | undefined) | undefined;
  readonly options: { readonly formerOwners?: readonly string[] };
}

/**
 * Removes the VMs of other control clusters from a list, and sends one event for each other control cluster.
 * @param reported the control clusters for which mcm has already sent an event; the function adds each new one
 */
export function withoutForeign(
  { recorder, owner, options }: ForeignFilterOptions,
  machineClass: MachineClass,
  reported: Set<string>,
  { vms }: Listing,
): readonly ListedInstance[] {
  const owners = { own: owner?.(), former: options.formerOwners ?? [] };
  const others = new Set(vms.filter((vm) => isForeign(vm, owners)));
  for (const { owner: other = '', providerId } of others) {
    if (reported.has(other)) continue;
    reported.add(other);
    const text = `VMs with the tags of the class, such as ${providerId}, belong to another control cluster (${other}), so mcm keeps them. If this cluster replaced the other cluster, add ${other} to --orphan-former-owners`;
    recorder.event(machineClass, 'Warning', 'ForeignVMs', text);
  }
  return vms.filter((vm) => !others.has(vm));
}

export interface Suspects {
  readonly suspects: readonly ListedInstance[];
  /** The VMs whose records have expired. */
  readonly released: InstanceSet;
}

/**
 * Removes kept VMs from a list. mcm deletes a kept VM before its record, so that a crash between the two deletions
 * leaves no VM without a record.
 * @throws KubeError
 */
export async function withoutKept(
  { keptVms }: { readonly keptVms: Pick<KeptVms, 'enabled' | 'list' | 'remove'> },
  machineClass: MachineClass,
  suspects: readonly ListedInstance[],
  { vms }: Listing,
  now: Date,
): Promise<Suspects> {
  const goes = machineClass.metadata.deletionTimestamp !== undefined;
  if (suspects.length === 0 && !keptVms.enabled && !goes) return { suspects, released: new InstanceSet([]) };
  const records = await keptVms.list(machineClass.metadata.name);
  const current = records.filter(({ until }) => now < until && !goes);
  const listed = new InstanceSet(vms.map(({ providerId }) => providerId));
  for (const record of records) {
    if (!current.includes(record) && !listed.has(record.providerID)) await keptVms.remove(record);
  }
  const kept = new InstanceSet(current.map(({ providerID }) => providerID));
  const released = records.filter((record) => !current.includes(record));
  return {
    suspects: suspects.filter(({ providerId }) => !kept.has(providerId)),
    released: new InstanceSet(released.map(({ providerID }) => providerID)),
  };
}
