import type * as z from 'zod';
import { GROUP, VERSION } from '../kinds/group.ts';
import { type Machine, machineSchema } from '../kinds/machine.ts';
import { type MachineClass, machineClassSchema } from '../kinds/machine-class.ts';
import { type MachineDeployment, machineDeploymentSchema } from '../kinds/machine-deployment.ts';
import { type MachineSet, machineSetSchema } from '../kinds/machine-set.ts';
import { type StructuralSchema, structuralSchema } from './structural-schema.ts';

/** How a kind of this group is reached. `_type` is a phantom: it carries the type and is never there. */
export interface MachineResource<T> {
  readonly group: typeof GROUP;
  readonly version: typeof VERSION;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: true;
  /** The schema of its CRD, which stored objects may not fit where another CRD is installed. */
  readonly shape: StructuralSchema;
  readonly _type?: T;
}

function resource<T>(plural: string, kind: string, schema: z.ZodType): MachineResource<T> {
  let shape: StructuralSchema | undefined;
  return {
    group: GROUP,
    version: VERSION,
    plural,
    kind,
    namespaced: true,
    get shape() {
      shape ??= structuralSchema(schema);
      return shape;
    },
  };
}

/** Where Machines are read and written. */
export const machines = resource<Machine>('machines', 'Machine', machineSchema);
/** Where MachineSets are read and written. */
export const machineSets = resource<MachineSet>('machinesets', 'MachineSet', machineSetSchema);
/** Where MachineDeployments are read and written. */
export const machineDeployments = resource<MachineDeployment>(
  'machinedeployments',
  'MachineDeployment',
  machineDeploymentSchema,
);
/** Where MachineClasses are read and written. */
export const machineClasses = resource<MachineClass>('machineclasses', 'MachineClass', machineClassSchema);
