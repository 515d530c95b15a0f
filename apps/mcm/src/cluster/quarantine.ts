import { Annotations, type MachineClass } from '@mcm/api';
import { quarantinedVms } from '@mcm/core';

/** A VM without a Machine. The VM exists until a user decides what happens to it. */
export interface QuarantinedVm {
  readonly machineClass: string;
  readonly providerId: string;
}

export const quarantinedIn = (classes: readonly MachineClass[]): readonly QuarantinedVm[] =>
  classes.flatMap((machineClass) =>
    quarantinedVms(machineClass).map((providerId) => ({ machineClass: machineClass.metadata.name, providerId })),
  );

export const quarantineLines = (vms: readonly QuarantinedVm[]): readonly string[] => [
  ...vms.map(({ machineClass, providerId }) => `VM ${providerId} of MachineClass ${machineClass}`),
  ...(vms.length === 0
    ? []
    : [
        `create the Machines of the VMs again, or add the VMs to annotation ${Annotations.ReleaseVMs} of the MachineClass`,
      ]),
];
