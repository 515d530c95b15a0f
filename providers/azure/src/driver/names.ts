import type { AzureProviderSpec, DataDisk } from './schemas.ts';
import { isBlank } from './validate.ts';

export const nicName = (vm: string): string => `${vm}-nic`;
export const osDiskName = (vm: string): string => `${vm}-os-disk`;

const dataDiskSuffix = ({ name, lun = 0 }: DataDisk): string =>
  isBlank(name) ? `-${lun}-data-disk` : `-${name}-${lun}-data-disk`;

export const dataDiskName = (vm: string, disk: DataDisk): string => `${vm}${dataDiskSuffix(disk)}`;

export const dataDisksOf = ({ properties }: AzureProviderSpec): readonly DataDisk[] =>
  properties?.storageProfile?.dataDisks ?? [];

/** Every disk that a machine's VM is made with. */
export const diskNames = (vm: string, spec: AzureProviderSpec): readonly string[] => [
  osDiskName(vm),
  ...dataDisksOf(spec).map((disk) => dataDiskName(vm, disk)),
];

export const providerIdOf = ({ location = '' }: AzureProviderSpec, vm: string): string => `azure:///${location}/${vm}`;

/** A row of Resource Graph. */
export interface Row {
  readonly type?: unknown;
  readonly name?: unknown;
}

/**
 * Names of the machines that the rows belong to. A NIC or an OS disk alone is a machine's left-over and counts as it; a
 * data disk never does by itself: its name does not say for sure where the machine's ends.
 */
export function machineNames(rows: readonly Row[]): readonly string[] {
  const names = rows.flatMap(({ type, name }) => {
    if (typeof type !== 'string' || typeof name !== 'string') return [];
    if (type === 'microsoft.compute/virtualmachines') return [name];
    if (type === 'microsoft.network/networkinterfaces') return [name.slice(0, -nicName('').length)];
    return type === 'microsoft.compute/disks' && name.endsWith(osDiskName(''))
      ? [name.slice(0, -osDiskName('').length)]
      : [];
  });
  return [...new Set(names.filter((name) => name !== ''))];
}
