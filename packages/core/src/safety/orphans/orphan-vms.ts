import { type Machine, type MachineClass, parseTime } from '@mcm/api';
import type { ListedInstance } from '../../driver/contract/driver.ts';
import { isInstance } from '../../node/instance.ts';

/**
 * Whether a VM belongs to no machine. A machine that is still being created or being deleted looks after its own VM.
 * Source: machine_safety.go, checkMachineClass.
 * @param machine The machine that has the name of the VM.
 * @param recorders Machines that may have the VM on record, whatever their names: somebody may have renamed the VM.
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

/** The control clusters whose VMs are this one's to collect. */
export interface Owners {
  /** This control cluster; undefined: it could not be told, and VMs bear no mark of it. */
  readonly own: string | undefined;
  /** Those that it was moved from. */
  readonly former: readonly string[];
}

/** Whether another control cluster made the VM (incident 16). One without a mark is anybody's, as with the original. */
export const isForeign = ({ owner }: ListedInstance, { own, former }: Owners): boolean =>
  owner !== undefined && owner !== own && !former.includes(owner);

/** Which of the suspected VMs are confirmed, and when the first of the others may be. */
export function confirmOrphans(
  suspects: readonly ListedInstance[],
  firstSeen: ReadonlyMap<string, Date>,
  now: Date,
  confirmAfterMs: number,
): { readonly confirmed: readonly ListedInstance[]; readonly nextAt?: Date } {
  const dueAt = (vm: ListedInstance): Date => {
    const seen = firstSeen.get(vm.providerId) ?? now;
    const made = parseTime(vm.createdAt) ?? seen;
    return new Date(Math.max(seen.getTime(), made.getTime()) + confirmAfterMs);
  };
  const confirmed = suspects.filter((vm) => dueAt(vm) <= now);
  const later = suspects.map(dueAt).filter((due) => due > now);
  const nextAt = later.length > 0 ? new Date(Math.min(...later.map((due) => due.getTime()))) : undefined;
  return { confirmed, ...(nextAt ? { nextAt } : {}) };
}

/** What the driver is to ask for or delete without a Machine: a VM that was listed, or that of a Node. */
export interface Stray {
  readonly machineName: string;
  readonly providerId: string;
  readonly machineClass: MachineClass;
}

/** The machine in whose name the driver is called for a VM that has none. Its UID is nobody's, so only the id counts. */
export const standIn = ({ machineName, providerId, machineClass }: Stray, now: Date): Machine => ({
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'Machine',
  metadata: {
    name: machineName,
    ...(machineClass.metadata.namespace === undefined ? {} : { namespace: machineClass.metadata.namespace }),
    uid: `orphan-${providerId}`,
    resourceVersion: '',
    creationTimestamp: now.toISOString(),
  },
  spec: { class: { kind: 'MachineClass', name: machineClass.metadata.name }, providerID: providerId },
});
