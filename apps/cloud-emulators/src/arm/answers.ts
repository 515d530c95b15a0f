import { createHash } from 'node:crypto';
import { isRecord, withoutUndefined } from '@mcm/kube';
import { type ArmResource, diskIdBeside, type Reference, type ResourceBody } from './model.ts';

export function reported(resource: ArmResource): object {
  const { id, name, kind, body, state, vmId, attachedTo, privateIp } = resource;
  const { osProfile, ipConfigurations, storageProfile, ...properties } = body.properties;
  const { customData: _, ...shown } = osProfile ?? {};
  const created = new Date(resource.createdAt).toISOString();
  return {
    ...body,
    id,
    name,
    ...withoutUndefined({ etag: kind === 'disks' ? undefined : `"${etagOf(resource)}"` }),
    type: kind === 'networkInterfaces' ? 'Microsoft.Network/networkInterfaces' : `Microsoft.Compute/${kind}`,
    properties: {
      ...properties,
      provisioningState: state,
      ...withoutUndefined({
        osProfile: osProfile ? shown : undefined,
        vmId: kind === 'virtualMachines' ? vmId : undefined,
        timeCreated: kind === 'networkInterfaces' ? undefined : created,
        storageProfile: storageProfile ? withDiskIds(id, storageProfile) : undefined,
        diskState: kind === 'disks' ? (attachedTo ? 'Attached' : 'Unattached') : undefined,
        virtualMachine: kind === 'networkInterfaces' && attachedTo ? { id: attachedTo } : undefined,
        ipConfigurations: ipConfigurations?.map((each) => addressed(id, each, privateIp)),
      }),
    },
    ...withoutUndefined({ managedBy: kind === 'disks' && attachedTo ? attachedTo : undefined }),
  };
}

/** Returns the state of a VM in the format of Azure. */
export function view({ state, failure, power: known }: ArmResource): object {
  const why = failure ? `/${failure.code}` : '';
  const message = failure ? { message: failure.message } : {};
  const provisioning = { code: `ProvisioningState/${state.toLowerCase()}${why}`, displayStatus: state, ...message };
  const power = { code: `PowerState/${known ?? 'running'}`, level: 'Info', displayStatus: `VM ${known ?? 'running'}` };
  return {
    statuses: [provisioning, ...(known !== undefined || state === 'Succeeded' || state === 'Updating' ? [power] : [])],
  };
}

/** Returns a VM with its instance view, for requests with `$expand=instanceView`. */
export function withView(vm: ArmResource): object {
  const shown = reported(vm);
  const properties = 'properties' in shown && isRecord(shown.properties) ? shown.properties : {};
  return { ...shown, properties: { ...properties, instanceView: view(vm) } };
}

const etagOf = ({ state, body, attachedTo }: ArmResource): string =>
  createHash('sha256')
    .update(JSON.stringify([state, body, attachedTo]))
    .digest('hex')
    .slice(0, 32);

type StorageProfile = NonNullable<ResourceBody['properties']['storageProfile']>;

function withDiskIds(vmId: string, { osDisk, dataDisks, ...rest }: StorageProfile): StorageProfile {
  const one = (disk: Reference): Reference =>
    disk.name === undefined
      ? disk
      : { ...disk, managedDisk: { ...disk.managedDisk, id: disk.managedDisk?.id ?? diskIdBeside(vmId, disk.name) } };
  return {
    ...rest,
    ...withoutUndefined({ osDisk: osDisk ? one(osDisk) : undefined, dataDisks: dataDisks?.map(one) }),
  };
}

const addressed = (
  nicId: string,
  configuration: IpConfiguration,
  privateIPAddress: string | undefined,
): IpConfiguration => ({
  ...configuration,
  ...withoutUndefined({
    id: typeof configuration.name === 'string' ? `${nicId}/ipConfigurations/${configuration.name}` : undefined,
  }),
  properties: { ...configuration.properties, ...withoutUndefined({ privateIPAddress }) },
});

type IpConfiguration = NonNullable<ResourceBody['properties']['ipConfigurations']>[number];
