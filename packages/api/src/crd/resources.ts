import type * as z from 'zod';
import { GROUP, VERSION } from '../kinds/group.ts';
import { type Machine, machineSchema } from '../kinds/machine.ts';
import { type MachineClass, machineClassSchema } from '../kinds/machine-class.ts';
import { type MachineDeployment, machineDeploymentSchema } from '../kinds/machine-deployment.ts';
import { type MachineSet, machineSetSchema } from '../kinds/machine-set.ts';
import { type StructuralSchema, structuralSchema } from './structural-schema.ts';

/** A resource of the API group machine.sapcloud.io. */
export interface MachineResource<T> {
  readonly group: typeof GROUP;
  readonly version: typeof VERSION;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: true;
  /** Stored objects may not conform to this schema if a cluster has another version of the CRD. */
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

/** The resource of Machines. */
export const machines = resource<Machine>('machines', 'Machine', machineSchema);
/** The resource of MachineSets. */
export const machineSets = resource<MachineSet>('machinesets', 'MachineSet', machineSetSchema);
/** The resource of MachineDeployments. */
export const machineDeployments = resource<MachineDeployment>(
  'machinedeployments',
  'MachineDeployment',
  machineDeploymentSchema,
);
/** The resource of MachineClasses. */
export const machineClasses = resource<MachineClass>('machineclasses', 'MachineClass', machineClassSchema);
