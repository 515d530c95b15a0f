import { Annotations, type MachineClass } from '@mcm/api';
import { quarantinedVms } from '@mcm/core';

/** A VM without a Machine that waits for a user. */
export interface QuarantinedVm {
  readonly machineClass: string;
  readonly providerId: string;
}

/** The VMs in quarantine of some classes. */
export const quarantinedIn = (classes: readonly MachineClass[]): readonly QuarantinedVm[] =>
  classes.flatMap((machineClass) =>
    quarantinedVms(machineClass).map((providerId) => ({ machineClass: machineClass.metadata.name, providerId })),
  );

/** One line for each VM, and a line with the possible actions; empty without VMs. */
export const quarantineLines = (vms: readonly QuarantinedVm[]): readonly string[] => [
  ...vms.map(({ machineClass, providerId }) => `VM ${providerId} of MachineClass ${machineClass}`),
  ...(vms.length === 0
    ? []
    : [`create their Machines again, or name the VMs in annotation ${Annotations.ReleaseVMs} of the MachineClass`]),
];
