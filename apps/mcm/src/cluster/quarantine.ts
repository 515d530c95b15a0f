import { Annotations, formatTime, type MachineClass } from '@mcm/api';
import { quarantinedVms, stoppedVms } from '@mcm/core';

/** A VM in quarantine has no Machine and stays until a user decides what happens to the VM. */
export interface QuarantinedVm {
  readonly machineClass: string;
  readonly providerId: string;
  /**
   * The time at which mcm deletes the VM. If `until` is undefined, the VM stays until a user decides what happens to
   * it.
   */
  readonly until?: Date | undefined;
}

export const quarantinedIn = (classes: readonly MachineClass[]): readonly QuarantinedVm[] =>
  classes.flatMap((machineClass) => {
    const { name } = machineClass.metadata;
    const kept = quarantinedVms(machineClass);
    const stopped = [...stoppedVms(machineClass)].filter(([providerId]) => !kept.includes(providerId));
    return [
      ...kept.map((providerId): QuarantinedVm => ({ machineClass: name, providerId })),
      ...stopped.map(([providerId, until]): QuarantinedVm => ({ machineClass: name, providerId, until })),
    ];
  });

export const quarantineLines = (vms: readonly QuarantinedVm[]): readonly string[] => [
  ...vms.map(
    ({ machineClass, providerId, until }) =>
      `VM ${providerId} of MachineClass ${machineClass}${until ? ` (stopped; mcm deletes the VM at ${formatTime(until)})` : ''}`,
  ),
  ...(vms.length === 0
    ? []
    : [
        `create the Machines of the VMs again, or add the VMs to annotation ${Annotations.ReleaseVMs} of the MachineClass`,
      ]),
];
