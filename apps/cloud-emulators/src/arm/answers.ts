import { createHash } from 'node:crypto';
import { type ArmResource, diskIdBeside, type Reference, type ResourceBody } from './model.ts';

/** The form of a resource in answers. */
export function reported(resource: ArmResource): object {
  const { id, name, kind, body, state, vmId, attachedTo, privateIp } = resource;
  const { osProfile, ipConfigurations, storageProfile, ...properties } = body.properties;
  const { customData: _, ...shown } = osProfile ?? {};
  const created = new Date(resource.createdAt).toISOString();
  return {
    ...body,
    id,
    name,
    ...(kind === 'disks' ? {} : { etag: `"${etagOf(resource)}"` }),
    type: kind === 'networkInterfaces' ? 'Microsoft.Network/networkInterfaces' : `Microsoft.Compute/${kind}`,
    properties: {
      ...properties,
      provisioningState: state,
      ...(osProfile ? { osProfile: shown } : {}),
      ...(kind === 'virtualMachines' ? { vmId } : {}),
      ...(kind === 'networkInterfaces' ? {} : { timeCreated: created }),
      ...(storageProfile ? { storageProfile: withDiskIds(id, storageProfile) } : {}),
      ...(kind === 'disks' ? { diskState: attachedTo ? 'Attached' : 'Unattached' } : {}),
      ...(kind === 'networkInterfaces' && attachedTo ? { virtualMachine: { id: attachedTo } } : {}),
      ...(ipConfigurations ? { ipConfigurations: ipConfigurations.map((each) => addressed(id, each, privateIp)) } : {}),
    },
    ...(kind === 'disks' && attachedTo ? { managedBy: attachedTo } : {}),
  };
}

/** The state of a VM as Azure reports it. */
export function view({ state, failure }: ArmResource): object {
  const why = failure ? `/${failure.code}` : '';
  const message = failure ? { message: failure.message } : {};
  const provisioning = { code: `ProvisioningState/${state.toLowerCase()}${why}`, displayStatus: state, ...message };
  const power = { code: 'PowerState/running', level: 'Info', displayStatus: 'VM running' };
  return { statuses: [provisioning, ...(state === 'Succeeded' || state === 'Updating' ? [power] : [])] };
}

/** Changes with every change of the resource. */
const etagOf = ({ state, body, attachedTo }: ArmResource): string =>
  createHash('sha256')
    .update(JSON.stringify([state, body, attachedTo]))
    .digest('hex')
    .slice(0, 32);

type StorageProfile = NonNullable<ResourceBody['properties']['storageProfile']>;

/** The disks of a VM, each with the id that it has of its own. */
function withDiskIds(vmId: string, { osDisk, dataDisks, ...rest }: StorageProfile): StorageProfile {
  const one = (disk: Reference): Reference =>
    disk.name === undefined
      ? disk
      : { ...disk, managedDisk: { ...disk.managedDisk, id: disk.managedDisk?.id ?? diskIdBeside(vmId, disk.name) } };
  return {
    ...rest,
    ...(osDisk ? { osDisk: one(osDisk) } : {}),
    ...(dataDisks ? { dataDisks: dataDisks.map(one) } : {}),
  };
}

/** A NIC's configurations have ids of their own, and its addresses stand with them. */
const addressed = (
  nicId: string,
  configuration: IpConfiguration,
  privateIPAddress: string | undefined,
): IpConfiguration => ({
  ...configuration,
  ...(typeof configuration.name === 'string' ? { id: `${nicId}/ipConfigurations/${configuration.name}` } : {}),
  properties: { ...configuration.properties, ...(privateIPAddress === undefined ? {} : { privateIPAddress }) },
});

type IpConfiguration = NonNullable<ResourceBody['properties']['ipConfigurations']>[number];
