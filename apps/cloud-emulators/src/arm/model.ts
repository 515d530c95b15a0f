import { isRecord } from '@mcm/kube';
import { z } from 'zod';

const text = z.string().optional();
const reference = z.looseObject({
  id: text,
  name: text,
  lun: z.number().optional(),
  deleteOption: text,
  createOption: text,
  managedDisk: z.looseObject({ id: text }).optional(),
  properties: z.looseObject({ primary: z.boolean().optional(), deleteOption: text }).optional(),
});
export type Reference = z.infer<typeof reference>;

export const resourceBody = z.looseObject({
  location: text,
  tags: z.record(z.string(), z.string()).optional(),
  zones: z.array(z.string()).optional(),
  properties: z
    .looseObject({
      hardwareProfile: z.looseObject({ vmSize: text }).optional(),
      osProfile: z.looseObject({ computerName: text, customData: text }).optional(),
      networkProfile: z.looseObject({ networkInterfaces: z.array(reference).optional() }).optional(),
      storageProfile: z
        .looseObject({
          imageReference: z.looseObject({}).optional(),
          osDisk: reference.optional(),
          dataDisks: z.array(reference).optional(),
        })
        .optional(),
      ipConfigurations: z
        .array(z.looseObject({ properties: z.looseObject({ subnet: z.looseObject({ id: text }).optional() }) }))
        .optional(),
    })
    .default({}),
});
export type ResourceBody = z.infer<typeof resourceBody>;

/** A request to change the tags of a resource. */
export const tagsPatch = z.looseObject({
  operation: z.enum(['Merge', 'Delete']),
  properties: z.looseObject({ tags: z.record(z.string(), z.string()) }),
});

export type ResourceKind = 'virtualMachines' | 'disks' | 'networkInterfaces';

export const TYPES: Readonly<Record<ResourceKind, string>> = {
  virtualMachines: 'microsoft.compute/virtualmachines',
  disks: 'microsoft.compute/disks',
  networkInterfaces: 'microsoft.network/networkinterfaces',
};

export interface ArmResource {
  readonly id: string;
  readonly name: string;
  readonly kind: ResourceKind;
  readonly group: string;
  body: ResourceBody;
  state: string;
  /** The creation time of the resource, as Unix time in milliseconds. */
  readonly createdAt: number;
  readonly graphFrom?: number | undefined;
  attachedTo?: string;
  privateIp?: string | undefined;
  /** The power state of a VM. If the VM has never been deallocated, `power` is undefined. */
  power?: 'running' | 'starting' | 'deallocating' | 'deallocated' | undefined;
  failure?: { readonly code: string; readonly message: string };
  /** The unique ID of a VM. A later VM with the same name has a different ID. */
  readonly vmId: string;
}

/** A change that takes time. If the emulator restarts, the new process completes the operation. */
export interface ArmOperation {
  readonly number: string;
  readonly resource: string;
  readonly what: 'put' | 'delete' | 'deallocate' | 'start';
  readonly doneAt: number;
  readonly graphLagMs?: number | undefined;
  readonly fail?: { readonly code: string; readonly message: string; readonly leave: boolean } | undefined;
  done: boolean;
}

/** Returns the ID in lower case, because IDs in Azure are case-insensitive. */
export const keyOf = (id: string): string => id.toLowerCase();

/** Returns the ID of a disk in the resource group of a VM or of another disk. */
export const diskIdBeside = (id: string, name: string): string =>
  id.replace(/(virtualMachines|disks)\/[^/]+$/, `disks/${name}`);

/** Merges the body of a PATCH request into the stored body of a resource. */
export function merge(old: unknown, change: unknown): unknown {
  if (Array.isArray(old) && Array.isArray(change)) {
    const keyFor = (each: unknown): unknown =>
      typeof each === 'object' && each !== null ? ('id' in each ? each.id : 'name' in each ? each.name : each) : each;
    return old.map((each) => {
      const with_ = change.find((one) => keyFor(one) === keyFor(each));
      return with_ === undefined ? each : merge(each, with_);
    });
  }
  if (!isRecord(old) || !isRecord(change)) return change;
  const merged: Record<string, unknown> = { ...old };
  for (const [key, value] of Object.entries(change)) merged[key] = key in merged ? merge(merged[key], value) : value;
  return merged;
}
