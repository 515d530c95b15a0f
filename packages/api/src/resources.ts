import { GROUP, VERSION } from './group.ts';
import type { Machine } from './kinds/machine.ts';
import type { MachineClass } from './kinds/machine-class.ts';
import type { MachineDeployment } from './kinds/machine-deployment.ts';
import type { MachineSet } from './kinds/machine-set.ts';

/** How a kind of this group is reached. `_type` is a phantom: it carries the type and is never there. */
export interface MachineResource<T> {
  readonly group: typeof GROUP;
  readonly version: typeof VERSION;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: true;
  readonly _type?: T;
}

const resource = <T>(plural: string, kind: string): MachineResource<T> => ({
  group: GROUP,
  version: VERSION,
  plural,
  kind,
  namespaced: true,
});

/** Where Machines are read and written. */
export const machines = resource<Machine>('machines', 'Machine');
/** Where MachineSets are read and written. */
export const machineSets = resource<MachineSet>('machinesets', 'MachineSet');
/** Where MachineDeployments are read and written. */
export const machineDeployments = resource<MachineDeployment>('machinedeployments', 'MachineDeployment');
/** Where MachineClasses are read and written. */
export const machineClasses = resource<MachineClass>('machineclasses', 'MachineClass');
