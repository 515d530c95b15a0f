import type { AzureProviderSpec, DataDisk } from './schemas.ts';
import { isBlank } from './validate.ts';

export const nicName = (vm: string): string => `${vm}-nic`;
export const osDiskName = (vm: string): string => `${vm}-os-disk`;

const dataDiskSuffix = ({ name, lun = 0 }: DataDisk): string =>
  isBlank(name) ? `-${lun}-data-disk` : `-${name}-${lun}-data-disk`;

export const dataDiskName = (vm: string, disk: DataDisk): string => `${vm}${dataDiskSuffix(disk)}`;

export const dataDisksOf = ({ properties }: AzureProviderSpec): readonly DataDisk[] =>
  properties?.storageProfile?.dataDisks ?? [];

export const diskNames = (vm: string, spec: AzureProviderSpec): readonly string[] => [
  osDiskName(vm),
  ...dataDisksOf(spec).map((disk) => dataDiskName(vm, disk)),
];

export const providerIdOf = ({ location = '' }: AzureProviderSpec, vm: string): string => `azure:///${location}/${vm}`;

const VM_TYPE = 'microsoft.compute/virtualmachines';

export interface Row {
  readonly type?: unknown;
  readonly name?: unknown;
  /** The value of the tag that names the control cluster. If the query does not return this tag, `owner` is absent. */
  readonly owner?: unknown;
  /** All tags, if the driver has read them. */
  readonly tags?: unknown;
}

/**
 * Returns the names of machines that have resources. A machine is in the result even if only its NIC or its OS disk
 * exists. A data disk alone is not sufficient, because its name does not contain the exact name of the machine.
 */
export const machineNames = (rows: readonly Row[]): readonly string[] => [
  ...new Set(rows.map(machineOf).filter((name) => name !== '')),
];

function machineOf({ type, name }: Row): string {
  if (typeof type !== 'string' || typeof name !== 'string') return '';
  if (type === VM_TYPE) return name;
  if (type === 'microsoft.network/networkinterfaces') return name.slice(0, -nicName('').length);
  return type === 'microsoft.compute/disks' && name.endsWith(osDiskName(''))
    ? name.slice(0, -osDiskName('').length)
    : '';
}

/** Returns the tags of the VM of a machine, and not the tags of its NIC or its disks. */
export const tagsOfVm = (rows: readonly Row[], machineName: string): unknown =>
  rows.find(({ type, name }) => type === VM_TYPE && name === machineName)?.tags;

/** Returns the control cluster that created the resources of a machine. */
export function ownerOfMachine(rows: readonly Row[], machineName: string): { readonly owner?: string } {
  const row = rows.find((each) => each.owner && machineOf(each) === machineName);
  return typeof row?.owner === 'string' ? { owner: row.owner } : {};
}
