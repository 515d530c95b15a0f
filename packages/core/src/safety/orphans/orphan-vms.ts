import { type Machine, type MachineClass, parseTime } from '@mcm/api';
import { defined } from '@mcm/kube';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { isInstance } from '../../node/instance.ts';

/**
 * Returns true if a VM belongs to no machine. A machine in creation or deletion manages its own VM. Source:
 * machine_safety.go, checkMachineClass.
 * @param machine The machine with the name of the VM.
 * @param recorders Machines of any name that may have the VM on record, because a user may have renamed the VM.
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

/** The control clusters whose VMs this one may collect. */
export interface Owners {
  /** This control cluster; undefined: it is unknown, and VMs have no tag of it. */
  readonly own: string | undefined;
  /** Control clusters that this one replaces. */
  readonly former: readonly string[];
}

/**
 * Returns true if another control cluster created the VM (incident 16). A VM without a tag belongs to any, as in the
 * original.
 */
export const isForeign = ({ owner }: ListedInstance, { own, former }: Owners): boolean =>
  owner !== undefined && owner !== own && !former.includes(owner);

/** Returns the confirmed ones of the suspected VMs, and when the first of the others may be confirmed. */
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

/** A listed VM, or the VM of a Node, that the driver looks up or deletes without a Machine. */
export interface Stray {
  readonly machineName: string;
  readonly providerId: string;
  readonly machineClass: MachineClass;
}

/** A machine for the driver's request about a VM without one. Its UID matches no VM, so only the provider ID counts. */
export const standIn = ({ machineName, providerId, machineClass }: Stray, now: Date): Machine => ({
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
