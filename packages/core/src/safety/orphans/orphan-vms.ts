import { type Machine, type MachineClass, parseTime } from '@mcm/api';
import { defined } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { isInstance } from '../../node/instance.ts';

/**
 * Returns true if a VM belongs to no machine. The VM of a machine in creation or deletion is not an orphan. Source:
 * machine_safety.go, checkMachineClass.
 * @param machine The machine with the name of the VM.
 * @param recorders Machines with another name whose provider ID may be the ID of the VM, because a user may have
 * renamed the VM.
 */
export function isOrphan(
  vm: ListedInstance,
  machine: Machine | undefined,
  recorders: readonly Machine[] = [],
): boolean {
  if (recorders.some(({ spec }) => isInstance(spec.providerID, vm.providerId))) return false;
  if (!machine) return true;
  if (isInstance(machine.spec.providerID, vm.providerId) || machine.metadata.deletionTimestamp) return false;
  const phase = machine.status?.currentStatus?.phase;
  return phase !== undefined && phase !== 'CrashLoopBackOff';
}

/** The control clusters whose orphans this control cluster may delete. */
export interface Owners {
  /** The UID of the control cluster; without it, new VMs have no tag of the control cluster. */
  readonly own: string | undefined;
  readonly former: readonly string[];
}

/**
 * Returns true if another control cluster created the VM (incident 16). A VM without the tag belongs to this control
 * cluster, as in the original.
 */
export const isForeign = ({ owner }: ListedInstance, { own, former }: Owners): boolean =>
  owner !== undefined && owner !== own && !former.includes(owner);

/** Returns the confirmed orphans, and the earliest time at which another suspected orphan can be confirmed. */
export function confirmOrphans(
  suspects: readonly ListedInstance[],
  firstSeen: ReadonlyMap<string, Date>,
  now: Date,
  confirmAfterMs: number,
): { readonly confirmed: readonly ListedInstance[]; readonly nextAt?: Date | undefined } {
  const dueAt = (vm: ListedInstance): Date => {
    const seen = firstSeen.get(vm.providerId) ?? now;
    const made = parseTime(vm.createdAt) ?? seen;
    return new Date(Math.max(seen.getTime(), made.getTime()) + confirmAfterMs);
  };
  const confirmed = suspects.filter((vm) => dueAt(vm) <= now);
  const later = suspects.map(dueAt).filter((due) => due > now);
  const nextAt = later.length > 0 ? new Date(Math.min(...later.map((due) => due.getTime()))) : undefined;
  return { confirmed, nextAt };
}

export interface OrphanVm {
  readonly machineName: string;
  readonly providerId: string;
  readonly machineClass: MachineClass;
}

/**
 * Returns the Machine for a driver call about an orphaned VM. The Machine has a new UID, so the driver can find the VM
 * only by the provider ID.
 */
export const machineOfOrphanVm = ({ machineName, providerId, machineClass }: OrphanVm, now: Date): Machine => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'Machine',
  metadata: defined({
    name: machineName,
    namespace: machineClass.metadata.namespace,
    uid: `orphan-${providerId}`,
    resourceVersion: '',
    creationTimestamp: now.toISOString(),
  }),
  spec: { class: { kind: 'MachineClass', name: machineClass.metadata.name }, providerID: providerId },
});
